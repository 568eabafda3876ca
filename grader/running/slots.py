"""Which slot, and so which user, a submission gets: no two at once on one machine share one.

As root, the sandbox gives every slot a user of its own, and the kernel counts threads by user. Two
graders, or several workers of a cluster on one machine, know nothing of each other, so a slot is a
lock in a folder of the machine that only root can write to.
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.base.errors import GraderError

MAX_SLOTS = 1000
# The first that can be used. Memory first: the locks mean nothing after a restart.
PLACES = (Path("/run"), Path("/var/run"), Path("/dev/shm"), Path("/tmp"))
FOLDER = "kv-cache-homework-slots"


@contextlib.contextmanager
def hold_slot(preferred: int) -> Iterator[int]:
    """A number that no other submission on this machine has until the block ends.

    Without root there is one user for all, so the caller's number serves. Slot 0 is never given as
    root: its user tries sandboxes out. The kernel frees a slot when its holder dies.

    Raises:
        GraderError: no folder for the locks, or every slot is taken.
    """
    if os.geteuid() != 0:
        yield preferred
        return
    descriptor, slot = _first_free(locks_folder(), preferred)
    try:
        yield slot
    finally:
        os.close(descriptor)


def locks_folder() -> Path:
    """The machine's folder of locks, made on first use."""
    refusals = []
    for place in PLACES:
        try:
            return own_folder(place / FOLDER)
        except GraderError as refusal:
            refusals.append(str(refusal))
    raise GraderError(
        "The grader needs a folder for the locks that keep submissions apart, and found none: "
        f"{' '.join(refusals)} Make one of these writable for root."
    )


def own_folder(folder: Path, mode: int = 0o700) -> Path:
    """`folder`, made on first use: this user's, and writable for nobody else.

    In a place like /tmp anybody could have made it first; GraderError then.
    """
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=mode)
        found = folder.lstat()
    except OSError as problem:
        raise GraderError(f"{folder} cannot be used ({problem.strerror}).") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o22:
        raise GraderError(f"{folder} is not a folder that only this user can write to.")
    return folder


def _first_free(folder: Path, preferred: int) -> tuple[int, int]:
    """The lock's descriptor, which is not inherited by programs, and the slot."""
    for offset in range(MAX_SLOTS):
        slot = 1 + (preferred + offset) % MAX_SLOTS
        descriptor = os.open(folder / str(slot), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        else:
            return descriptor, slot
    raise GraderError(
        f"All {MAX_SLOTS} slots of this machine are taken: as many submissions run already. "
        "Use fewer jobs."
    )
