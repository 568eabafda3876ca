"""A bound on the memory that this process takes while it reads what strangers made."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

MIB = 1024 * 1024
# To read one submission: a notebook of the largest size, made to, takes about half of it.
READING_MIB = 1024
# For all that the process of one submission does, of which 150 MiB were used at most. An engine's
# client that starts a container inherits it, and reserves a GiB or more without touching it.
GRADING_MIB = 4096


def limit_memory(mib: int) -> bool:
    """Let this process take so many MiB more than it has now; False where no limit is kept.

    Only the soft limit is set: programs that it starts inherit it and may set their own. A limit
    that is already lower stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted = pages * resource.getpagesize() + mib * MIB
        if soft == resource.RLIM_INFINITY or wanted < soft:
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    except (OSError, ValueError):  # another system than Linux has neither the file nor the limit
        return False
    return True


@contextlib.contextmanager
def limited_memory(mib: int = READING_MIB) -> Iterator[bool]:
    """Within the block this process can take so many MiB more; beyond it, MemoryError.

    Gives False where no limit is kept.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    try:
        yield limit_memory(mib)
    finally:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, before)
