"""What this machine's /proc says of processes: their children, their threads, the time they took.

A worker in a pid namespace is seen here too, under its number on this side. Where there is no /proc
(macOS), or a process is not shown in it, there is nothing to say.
"""

import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NANO = 1e-9
RUNNABLE = "R"
# In the fields of `status`: its own time and that of children that it has collected.
TIMES = slice(11, 15)


@dataclass(frozen=True)
class Thread:
    """One thread at one moment.

    Attributes:
        is_runnable: it is on a core or waits for one; else it sleeps.
        turns: how often it has been given a core.
        ran: seconds on a core.
        waited: seconds for which it was runnable and others had the core, up to its last turn.
    """

    is_runnable: bool
    turns: int
    ran: float
    waited: float


def status(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when there is no such process."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].decode().split()


def descendants(pid: int) -> list[int]:
    """A process and all that come from it; a child whose parent ended is its new parent's."""
    return descend(pid, children_listed if children_listed(pid) is not None else children_found())


def descend(pid: int, children: Callable[[int], list[int] | None]) -> list[int]:
    found = [pid]
    for known in found:
        found += children(known) or []
    return found


def processor_seconds(pid: int) -> float | None:
    """Time that a process took, with its threads and collected children; None when it is gone."""
    fields = status(pid)
    return sum(map(int, fields[TIMES])) / os.sysconf("SC_CLK_TCK") if fields else None


def threads_of(pid: int) -> dict[int, Thread]:
    """The threads of a process by number. Without the scheduler's books all their times are 0."""
    found = {}
    for name in _names(f"/proc/{pid}/task"):
        if fields := status(f"{pid}/task/{name}"):
            ran, waited, turns = _scheduled(f"/proc/{pid}/task/{name}/schedstat")
            found[int(name)] = Thread(fields[0] == RUNNABLE, turns, ran * NANO, waited * NANO)
    return found


def waited_here() -> float:
    """Seconds for which this very thread has waited for a core that others had."""
    return _scheduled("/proc/thread-self/schedstat")[1] * NANO


def _scheduled(path: str) -> tuple[int, int, int]:
    """ns on a core, ns it waited for one, number of turns."""
    try:
        ran, waited, turns = map(int, _read(path).split())
    except ValueError:
        return 0, 0, 0
    return ran, waited, turns


def _read(path: str) -> bytes:
    """A small file; nothing when it is not there, or its process ends meanwhile."""
    try:
        # Read some twenty times a second for each call that lasts: a Path takes three times longer.
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 1 << 12)
    except OSError:
        return b""
    finally:
        os.close(fd)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except OSError:  # it has just ended
        return []


def children_listed(pid: int) -> list[int] | None:
    """Of all threads of a process; None on kernels that do not list them."""
    try:
        return [
            int(child)
            for thread in _names(f"/proc/{pid}/task")
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        ]
    except OSError:
        return None


def children_found() -> Callable[[int], list[int]]:
    """The same from a look at every process, for the other kernels."""
    children = defaultdict(list)
    for name in _names("/proc"):
        if name.isdigit() and (fields := status(name)):
            children[int(fields[1])].append(int(name))
    return lambda pid: children[pid]
