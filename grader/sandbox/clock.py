"""Whose time passes: what a worker computes or sleeps is its own, waiting for a core is nobody's.

So a submission beside busy processes of others loses nothing, and an endless loop or a sleep still
ends in seconds. All is measured on this side, from the kernel's books; a worker is asked nothing.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from grader.sandbox.problems import WorkerTimeout
from grader.sandbox.processes import (
    Thread,
    descendants,
    processor_seconds,
    threads_of,
    waited_here,
)

# Most calls end before a first look is worth its cost.
FIRST_LOOK = 0.01
# The longer a call lasts, the rarer: a fifth of its time so far, within these.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 0.5
# How long a clock may run unseen through many short calls, and a list of processes hold.
UNSEEN, LIST_HOLDS = 0.5, 1.0


class Patience(Protocol):
    """How long to wait for a worker.

    Attributes:
        pause: seconds until the next `check`.
    """

    @property
    def pause(self) -> float: ...

    def check(self) -> None:
        """Raises WorkerTimeout when it is over. Cheap, so that it can be asked for every byte."""
        ...


class Deadline:
    """Patience by the wall clock."""

    def __init__(self, seconds: float):
        self._end = time.monotonic() + seconds

    @property
    def pause(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        if not self.pause:
            raise WorkerTimeout


@dataclass(frozen=True)
class Usage:
    """What a worker has used so far.

    Attributes:
        cpu: seconds of processor time, of threads and processes that have ended too.
        threads: those that are there now, by number.
    """

    cpu: float
    threads: dict[int, Thread]


class WorkerBooks:
    """Reads what the processes of one worker have used; None where this system does not say."""

    def __init__(self, pid: int | None):
        """`pid` is the first of them, as this machine numbers it, if that is known."""
        self._pid = pid
        self._processes: list[int] = []
        self._listed = 0.0

    def __call__(self) -> Usage | None:
        if self._pid is None:
            return None
        if not self._processes or time.monotonic() - self._listed > LIST_HOLDS:
            self._processes = descendants(self._pid)
            self._listed = time.monotonic()
        times = [processor_seconds(process) for process in self._processes]
        if times[0] is None:
            return None
        threads = {n: thread for p in self._processes for n, thread in threads_of(p).items()}
        return Usage(sum(filter(None, times)), threads)


@dataclass(frozen=True)
class Look:
    """The books at one moment, in seconds; `held_up` is what the grader's own thread has waited."""

    at: float
    cpu: float
    busy: dict[int, float]
    held_up: float


class WorkerClock:
    """Tells a worker's own time, call by call.

    A thread is busy while it runs and while it waits for a core; the worker sleeps while none is.
    The times of several threads add up, which can shorten the sleep before and is not kept for
    later. Nor does a worker sleep while the grader's own thread waits for a core. Where the books
    cannot be read, all time counts as computed.

    Attributes:
        computed: seconds of processor time in the open call, but for its first moments.
        slept: seconds in which the worker slept during the open call.
    """

    def __init__(
        self,
        read: Callable[[], Usage | None],
        now: Callable[[], float] = time.monotonic,
        waited_here: Callable[[], float] = waited_here,
    ):
        self._read, self._now, self._waited_here = read, now, waited_here
        self._waiting: dict[int, tuple[Thread, float]] = {}
        usage = read()
        self._is_readable = usage is not None
        self._last = self._look_at(usage or Usage(0.0, {}))
        self._owed = 0.0
        self.begin()

    def begin(self) -> None:
        """A call begins."""
        self._began = self._now()
        self._next_look = self._began + FIRST_LOOK
        self._is_first_look = True
        self.computed = self.slept = 0.0

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return max(0.0, self._next_look - self._now())

    def look(self) -> None:
        """Bring `computed` and `slept` up to date."""
        now = self._now()
        pause = min(max(SHORTEST_PAUSE, (now - self._began) / 5), LONGEST_PAUSE)
        self._next_look = now + pause
        if not self._is_readable:
            self.computed = now - self._began
        elif (usage := self._read()) is not None:  # else it has ended, which its pipes will say
            self._compare(self._look_at(usage))

    def end(self) -> float:
        """The open call ends. Gives the worker's own seconds that were not given before."""
        if not self._is_readable:
            return self._now() - self._began
        if not self._is_first_look or self._now() - self._last.at > UNSEEN:
            self.look()
        owed, self._owed = self._owed + self.slept, 0.0
        return owed

    def _look_at(self, usage: Usage) -> Look:
        now = self._now()
        busy = {number: self._busy(number, now, thread) for number, thread in usage.threads.items()}
        return Look(now, usage.cpu, busy, self._waited_here())

    def _busy(self, number: int, now: float, thread: Thread) -> float:
        """Of a thread so far; the books count a wait when it is over, and this while it lasts."""
        known, since = self._waiting.get(number, (None, now))
        if thread != known or not thread.is_runnable:
            since = now
        self._waiting[number] = (thread, since)
        return thread.ran + thread.waited + now - since

    def _compare(self, new: Look) -> None:
        old, self._last = self._last, new
        computed = max(0.0, new.cpu - old.cpu)
        self._owed += computed
        if not self._is_first_look:
            gained = (max(0.0, busy - old.busy.get(n, 0.0)) for n, busy in new.busy.items())
            busy = max(computed, sum(gained)) + new.held_up - old.held_up
            self.computed += computed
            self.slept = max(0.0, self.slept + new.at - old.at - busy)
        self._is_first_look = False


class OwnTime:
    """Patience for one call: so much processor time, so much sleep, and so much of both."""

    def __init__(self, clock: WorkerClock, computing: float, sleeping: float, in_all: float):
        self._clock = clock
        self._computing, self._sleeping, self._in_all = computing, sleeping, in_all
        clock.begin()

    @property
    def pause(self) -> float:
        return self._clock.pause

    @property
    def is_in_all_over(self) -> bool:
        return self._clock.computed + self._clock.slept >= self._in_all

    @property
    def is_sleep_over(self) -> bool:
        return self._clock.slept >= self._sleeping

    def check(self) -> None:
        if self.pause:
            return
        self._clock.look()
        if self._clock.computed >= self._computing or self.is_sleep_over or self.is_in_all_over:
            raise WorkerTimeout
