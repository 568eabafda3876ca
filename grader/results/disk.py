"""A full or read-only disk stops a run with a sentence; what was graded before stays whole."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grader.base.errors import GraderError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DISK = _FULL | {errno.EROFS, errno.EIO, errno.ESTALE, errno.ENOTCONN}
_PROBE_BYTES = 64 * 1024
# In the results folder, whose lock tells that a scratch folder left by a killed grader is dead.
SCRATCH_PREFIX = ".scratch-"


@contextlib.contextmanager
def disk_as_sentence(out: Path) -> Iterator[None]:
    """Turn an OSError of the results' disk into a GraderError that says how to go on."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in _DISK and not _is_below(problem.filename, out):
            raise
        raise GraderError(_sentence(problem, out)) from None


def require_space(out: Path) -> None:
    """Raise the OSError that a record of usual size would meet; leaves nothing behind.

    A full disk makes every submission fail. None of these errors is the submission's.
    """
    with tempfile.NamedTemporaryFile(dir=out, prefix=".", suffix=".tmp") as probe:
        probe.write(bytes(_PROBE_BYTES))
        probe.flush()
        os.fsync(probe.fileno())


def _is_below(name: object, out: Path) -> bool:
    if not isinstance(name, str | bytes):
        return False
    return Path(os.fsdecode(name)).absolute().is_relative_to(out.absolute()) or Path(
        os.fsdecode(name)
    ).is_relative_to(out.resolve())


def _sentence(problem: OSError, out: Path) -> str:
    kept = len(list(out.glob("*.json")))
    what = (
        f"There is no room left for results in {out}/ ({problem.strerror})."
        if problem.errno in _FULL
        else f"Results cannot be written to {out}/ ({problem.strerror})."
    )
    remedy = "Free some space" if problem.errno in _FULL else "Make the folder writable"
    noun = "result in it is" if kept == 1 else "results in it are"
    return (
        f"{what} The {kept} {noun} whole. {remedy}, then run the same command again to grade the "
        "rest."
    )
