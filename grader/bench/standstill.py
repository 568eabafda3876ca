"""A submission stands still while it is not its turn.

Threads that go on between calls could work ahead, or slow down the loop it is compared with. So all
processes of a worker are stopped by the kernel whenever its turn ends, and seen to have stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

STOP_SECONDS = 5.0


class StillRunning(Exception):
    """A worker could not be stopped."""


def processes_of(pid: int) -> list[int]:
    """A child of ours and all that descend from it; none once it has been collected."""
    if not (status := _status(pid)) or int(status[1]) != os.getpid():
        return []  # the number may be somebody else's by now
    found = [pid]
    for known in found:
        found += _children(known)
    return found


def is_stopped(pid: int) -> bool:
    """Stopped by a signal, or gone."""
    fields = _status(pid)
    return not fields or fields[0] in "TtZX"


def cpu_ticks(pid: int) -> int:
    """Processor time that a process and its descendants have used, in clock ticks."""
    return sum(int(f[11]) + int(f[12]) for p in processes_of(pid) if (f := _status(p)))


def stop(pid: int) -> None:
    """Stop a process and its descendants; StillRunning when they go on."""
    deadline = time.monotonic() + STOP_SECONDS
    while running := [p for p in processes_of(pid) if not is_stopped(p)]:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
        if time.monotonic() > deadline:
            raise StillRunning(f"process {running[0]} of a worker does not stop")
        time.sleep(0.0005)


def go_on(pid: int) -> None:
    """Let a stopped process and its descendants run again."""
    for process in processes_of(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def turn(of: int, others: list[int]) -> Iterator[None]:
    """The process `of` runs and the `others` stand; afterwards it stands as well."""
    for other in others:
        stop(other)
    go_on(of)
    try:
        yield
    finally:
        stop(of)


def _status(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children(pid: int) -> list[int]:
    """Of all threads of a process."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        if threads and not (threads[0] / "children").exists():
            return _children_by_search(pid)
        return [int(c) for thread in threads for c in (thread / "children").read_text().split()]
    except OSError:  # it has just ended
        return []


def _children_by_search(pid: int) -> list[int]:
    """For kernels that do not list them."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [n for n in numbers if (fields := _status(n)) and int(fields[1]) == pid]
