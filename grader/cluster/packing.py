"""A submission as bytes, for a machine that does not see this one's disk.

Only reading happens here, under the limits of the intake and without following links. Archives
travel as they are: what strangers packed is taken apart on the worker, in a process of its own.
"""

import os
import stat
from dataclasses import replace
from pathlib import Path

from grader.base.errors import NothingToGrade
from grader.base.notes import Reason
from grader.intake.contents import MIB, Contents, IntakeLimits
from grader.intake.prepare import read_submission
from grader.intake.submissions import Found


def pack(found: Found, limits: IntakeLimits | None = None) -> Found:
    """`found` with all it needs in memory: at most `limits.archive_bytes`.

    What breaks a rule becomes kind "nothing" with the rule as its reason, as grading it would.
    Raises OSError where an archive cannot be read.
    """
    limits = limits or IntakeLimits()
    names = tuple(Path(source.name) for source in found.sources)
    if found.kind == "nothing":
        return replace(found, sources=names)
    try:
        if found.kind == "archive":
            contents = Contents(files={names[0].name: _archive(found.sources[0], limits)})
        else:
            contents = read_submission(found, limits)
    except NothingToGrade as verdict:
        return replace(found, kind="nothing", sources=names, reason=verdict.reason)
    return replace(found, sources=names, contents=contents)


def unpack(found: Found, folder: Path) -> Found:
    """The reverse of `pack`: an archive lies in the new folder `folder`, all else in memory."""
    if found.kind != "archive" or found.contents is None:
        return found
    folder.mkdir(mode=0o700)
    path = folder / found.sources[0].name
    path.write_bytes(found.contents.files[path.name])
    return replace(found, sources=(path,), contents=None)


def _archive(path: Path, limits: IntakeLimits) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NothingToGrade(Reason("The archive is not a plain file."))
        content = file.read(limits.archive_bytes + 1)
    if len(content) > limits.archive_bytes:
        raise NothingToGrade(
            Reason(
                "The archive is larger than {n} MiB, the most that is read.",
                n=limits.archive_bytes // MIB,
            )
        )
    return content
