"""The lock of a results folder: one grader writes to it at a time, and says who it is."""

import contextlib
import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from grader.base.errors import GraderError
from grader.results.disk import SCRATCH_PREFIX
from grader.results.record import remove_drafts

LOCK_NAME = ".grader.lock"


@contextlib.contextmanager
def results_lock(folder: Path) -> Iterator[None]:
    """Hold the results folder for this grader alone; GraderError says who holds it otherwise.

    The kernel frees the lock when its holder dies, however it dies.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as problem:
        raise GraderError(
            f"Results cannot be written to {folder} ({problem.strerror}). Name another folder "
            "with --out."
        ) from None
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GraderError(
                f"Another grader is writing to {folder} ({_holder(file.read(500))}). Wait for it, "
                "or name another folder with --out."
            ) from None
        _sign(file.fileno())
        remove_drafts(folder)
        for left_behind in folder.glob(f"{SCRATCH_PREFIX}*"):
            shutil.rmtree(left_behind, ignore_errors=True)
        yield
        file.truncate(0)


def is_being_written(folder: Path) -> bool:
    """Whether a run on the results folder is under way, or was ended before its end.

    Reads what the lock says and does not try it: a grader that began just then would be refused.
    """
    try:
        return bool((folder / LOCK_NAME).read_bytes())
    except OSError:
        return False


def _sign(lock: int) -> None:
    """Write into the lock who holds it, and since when the run is going, earlier attempts counted:
    only a run that came to its end empties the lock."""
    before = _parse_lock(os.pread(lock, 500, 0))
    content = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    if before:
        content["began_ns"] = before.get("began_ns", os.fstat(lock).st_mtime_ns)
    line = json.dumps(content).encode() + b"\n"
    # In this order, a kill in between leaves the new line and a rest, not an empty file.
    os.pwrite(lock, line, 0)
    os.ftruncate(lock, len(line))


def run_began_ns(folder: Path) -> int:
    """When the unfinished run on `folder` began, by the disk's clock, in ns."""
    lock = folder / LOCK_NAME
    return _parse_lock(lock.read_bytes()).get("began_ns", lock.stat().st_mtime_ns)


def _parse_lock(content: bytes) -> dict:
    line = content.partition(b"\n")[0]
    try:
        parsed = json.loads(line)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _holder(content: str) -> str:
    try:
        holder = _parse_lock(content.encode())
        return f"process {holder['pid']} on {holder['host']}, since {holder['since']}"
    except KeyError:
        return "which has only just started"
