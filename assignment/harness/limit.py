"""A call of the student's that does not end: at home too it is stopped, and named.

A timer's signal stops it where there is one, and the other tests go on. Elsewhere (Windows) a
thread names the test and ends the run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from .chain import is_students
from .words import tr

CALL_SECONDS = 20.0
# A loop without an end is met again in every test that calls it: then it is waited for less.
SECONDS_AFTER_THE_FIRST = 2.0
# Code that catches everything catches the first one too; what catches all of them ends the run.
AGAIN_AFTER = 1.0
MAX_TIMES = 10


class TookTooLong(BaseException):
    """A call was stopped; no Exception, as a student's `except Exception` must not catch it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            tr(
                "no end after {seconds:g} s: a loop without an end? (--call-seconds changes the "
                "limit)\nit was stopped here:",
                seconds=seconds,
            )
        )


class RaisedInterrupt(Exception):
    """The student's code raised KeyboardInterrupt itself, which would end pytest."""


class CallLimit:
    """Watches over a test: each of its calls has `seconds` from its begin.

    Args:
        seconds: 0 for no limit.
        say: writes a line where pytest captures none.
    """

    def __init__(self, seconds: float, say: Callable[[str], Any]) -> None:
        self._seconds, self._say = seconds, say
        self._calls = self._times = 0
        self._interrupted = False
        self._has_timer = hasattr(signal, "setitimer")
        self._watchdog: threading.Timer | None = None

    @contextlib.contextmanager
    def test(self, patience: float = 1.0) -> Iterator[None]:
        """A test runs; `patience` is a factor on the seconds."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._now = self._seconds * patience
        self._times = 0
        with self._handlers():
            self._wind_up()
            try:
                yield
            except KeyboardInterrupt as error:
                if self._interrupted:
                    _leave_the_handler_out(error)
                    raise
                raise RaisedInterrupt().with_traceback(error.__traceback__) from error
            except TookTooLong:
                self._seconds = min(self._seconds, SECONDS_AFTER_THE_FIRST)
                raise
            finally:
                self._stop()

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """One call of the student's begins and ends."""
        self._wind_up()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    @contextlib.contextmanager
    def _handlers(self) -> Iterator[None]:
        own = {signal.SIGINT: self._on_ctrl_c}
        if self._has_timer:
            own[signal.SIGALRM] = self._on_timer
        before = {number: signal.signal(number, handler) for number, handler in own.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_ctrl_c(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def _on_timer(self, number: int, frame: FrameType | None) -> None:
        if not self._calls and not _in_students_code(frame):
            return
        self._times += 1
        if self._times > MAX_TIMES:
            self._end_the_run()
        raise TookTooLong(self._now)

    def _wind_up(self) -> None:
        if not self._seconds:
            return
        if self._has_timer:
            signal.setitimer(signal.ITIMER_REAL, self._now, AGAIN_AFTER)
            return
        self._stop()
        self._watchdog = threading.Timer(self._now, self._end_the_run)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _stop(self) -> None:
        if self._has_timer:
            signal.setitimer(signal.ITIMER_REAL, 0)
        elif self._watchdog is not None:
            self._watchdog.cancel()

    def _end_the_run(self) -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        self._say(str(TookTooLong(self._now)).splitlines()[0])
        self._say(tr("    the run ends here, in {test}", test=test))
        sys.stdout.flush()
        os._exit(1)


def _leave_the_handler_out(error: BaseException) -> None:
    """pytest shows the last line of an interruption: that of the code that was running."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None and step.tb_next.tb_next is not None:
        step = step.tb_next
    if step is not None:
        step.tb_next = None


def _in_students_code(frame: FrameType | None) -> bool:
    while frame is not None:
        if is_students(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False
