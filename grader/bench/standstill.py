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

from grader.sandbox.processes import descendants, processor_seconds, status

STOP_SECONDS = 5.0


class StillRunning(Exception):
    """A worker could not be stopped."""


def processes_of(pid: int) -> list[int]:
    """A child of ours and all that descend from it; none once it has been collected."""
    if not (fields := status(pid)) or int(fields[1]) != os.getpid():
        return []  # the number may be somebody else's by now
    return descendants(pid)


def is_stopped(pid: int) -> bool:
    """Stopped by a signal, or gone."""
    fields = status(pid)
    return not fields or fields[0] in "TtZX"


def cpu_seconds(pid: int) -> float:
    """Processor time that a process and its descendants have used."""
    return sum(processor_seconds(process) or 0.0 for process in processes_of(pid))


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
