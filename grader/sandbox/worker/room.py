"""A bound on the memory that one call may take."""

import mmap
import resource

LARGEST_SPACE = 1 << 40


class Room:
    """While it is open the address space may grow by so many bytes; None sets no limit."""

    def __init__(self, size: int | None):
        self._size = size
        self._before = resource.getrlimit(resource.RLIMIT_AS)
        self.was_too_small = False
        self.is_unlimited = False

    def __enter__(self):
        if self._size is not None:
            used = address_space(self._before)
            self.is_unlimited = used is None or not set_address_space(
                used + self._size, self._before
            )
        return self

    def __exit__(self, kind, error, trace):
        if self._size is None:
            return False
        set_address_space(self._before[0], self._before)
        self.was_too_small = isinstance(error, MemoryError) and not self.is_unlimited
        return self.was_too_small


def set_address_space(size: int, before: tuple[int, int]) -> bool:
    """Set the soft limit, never above the one that was in force; False where that is refused."""
    most = before[0]
    value = size if most == resource.RLIM_INFINITY else min(size, most)
    try:
        resource.setrlimit(resource.RLIMIT_AS, (value, before[1]))
    except (ValueError, OSError):
        return False
    return True


def address_space(before: tuple[int, int]) -> int | None:
    """How much is mapped, to 1 MiB: the smallest limit under which a page more can be mapped.

    There is no /proc to read it from. None where no limit is kept.
    """
    too_small, enough = 0, LARGEST_SPACE
    try:
        if page_fits(too_small, before):
            return None
        while enough - too_small > 1 << 20:
            middle = (too_small + enough) // 2
            too_small, enough = (
                (too_small, middle) if page_fits(middle, before) else (middle, enough)
            )
    finally:
        set_address_space(before[0], before)
    return enough


def page_fits(limit: int, before: tuple[int, int]) -> bool:
    """Whether a page can be mapped under a limit, or none can be set."""
    if not set_address_space(limit, before):
        return True
    try:
        mmap.mmap(-1, mmap.PAGESIZE).close()
    except (OSError, MemoryError):
        return False
    return True
