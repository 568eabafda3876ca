"""Grades many submissions at once, each in a process of its own.

A warm server process (multiprocessing's forkserver) has the heavy imports done; every submission
gets a child forked from it. Whatever happens to a child, be it an exception, a crash or a hang,
becomes the state `error` of that one submission. The children hand their results over as files;
only this process writes to the results folder.
"""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection, forkserver, get_context
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from grader.base.places import ROOT
from grader.base.words import tr
from grader.intake.submissions import Found
from grader.results.disk import SCRATCH_PREFIX, require_space
from grader.results.history import replace_record
from grader.results.record import SubmissionResult
from grader.results.summary import Summary, summarise
from grader.running.child import (
    KEPT,
    LOG,
    NEW,
    Grading,
    error_result,
    record_suite,
    run_child,
    tail_of,
)
from grader.running.unchanged import Unchanged

PRELOAD = (
    "numpy",
    "pytest",
    "hypothesis",
    "grader.running.preload",
    "grader.running.pool",
    "grader.cli.main",
)
HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# On a cluster's worker several threads grade; multiprocessing's own books are for one.
_BOOKS = threading.RLock()


@dataclass
class _Running:
    process: Any
    found: Found
    slot: int
    work: Path
    fingerprint: str | None
    started: float = field(default_factory=time.monotonic)


def grade_all(
    found: Iterable[Found],
    grading: Grading,
    jobs: int | None = None,
    preload: Sequence[str] = PRELOAD,
    done: list[Summary] | None = None,
) -> Generator[Summary, None, None]:
    """Grade every submission, `jobs` at a time, yielding a summary as each is finished.

    A summary is also appended to `done`, at once with its record: after an interrupt, `done` says
    exactly what was kept.
    Closing the generator (or Ctrl-C inside it) stops the children and keeps what is done. The
    caller holds the lock of `grading.out`.
    """
    jobs = jobs or usable_cores()
    done = [] if done is None else done
    waiting = deque(found)
    unchanged = Unchanged.of(grading)
    graded = 0
    free_slots = list(range(min(jobs, len(waiting))))
    running: dict[int, _Running] = {}
    # 0711: the sandbox's user must pass through by name, nobody needs to list it.
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=grading.out.resolve()))
    scratch.chmod(0o711)
    context = get_context("forkserver")
    try:
        while waiting or running:
            if waiting and free_slots:
                if (summary := unchanged.summary(waiting[0])) is not None:
                    waiting.popleft()
                    done.append(summary)
                    yield summary
                    continue
                _start_server(context, preload)
                if graded >= grading.record_after and grading.record is not None:
                    record_once(context, grading, scratch)
                    grading = replace(grading, record=None)
                # An interrupt between a child's start and its entry here would lose sight of it.
                with uninterrupted(), _BOOKS:
                    child = _start(
                        context, waiting.popleft(), unchanged, free_slots.pop(0), scratch
                    )
                    running[child.process.sentinel] = child
                continue
            for sentinel in _wait(running, grading.limits.slot_seconds):
                with uninterrupted(), _BOOKS:
                    child = running[sentinel]
                    done.append(_finish(child, unchanged))
                    del running[sentinel]
                    graded += not done[-1].kept
                    free_slots.append(child.slot)
                yield done[-1]
    finally:
        with uninterrupted(), _BOOKS:
            for child in running.values():
                _stop(child)
            unchanged.index.save()
            shutil.rmtree(scratch, ignore_errors=True)


def record_once(context: Any, grading: Grading, scratch: Path) -> None:
    """Have the suite recorded; without a recording every submission is graded the long way."""
    work = Path(tempfile.mkdtemp(dir=scratch))
    process = context.Process(target=record_suite, args=(grading, 0, work), daemon=False)
    process.start()
    try:
        process.join(grading.limits.slot_seconds)
    finally:
        _end(process)


def usable_cores() -> int:
    """The cores this process may use, which in a container can be fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start_server(context: Any, preload: Sequence[str]) -> None:
    """Start the warm server so that neither it nor its helper imports from the current folder.

    Python puts the current folder first on the path of `python -c`, by which multiprocessing
    starts both: with a class folder as current folder, a student's numpy.py or signal.py would
    run as trusted code.
    """
    context.set_forkserver_preload(list(preload))
    python_path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": python_path,
        # One core a child: parallelism comes from the number of children.
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    with _BOOKS, _environment(environment):
        forkserver.ensure_running()


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _start(context: Any, found: Found, unchanged: Unchanged, slot: int, scratch: Path) -> _Running:
    work = Path(tempfile.mkdtemp(dir=scratch))
    work.chmod(0o711)
    fingerprint = unchanged.fingerprint(found)
    arguments = (found, unchanged.grading, slot, work)
    process = context.Process(target=run_child, args=arguments, daemon=False)
    process.start()
    return _Running(process, found, slot, work, fingerprint)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C and termination back until the end of the block.

    A mask holds a signal off this thread, and off those that begin in the block. Another thread,
    as one of numpy's, takes it all the same, and Python then runs the handler here: so handlers
    only note what came, and it is raised again at the end.
    """
    noted: dict[int, None] = {}
    with contextlib.ExitStack() as after:
        after.callback(_raise_again, noted)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        after.callback(signal.pthread_sigmask, signal.SIG_SETMASK, before)
        # Handlers run in the main thread alone, and can be changed there alone.
        if threading.current_thread() is threading.main_thread():
            for number in HELD_BACK:
                if (handler := signal.getsignal(number)) is not None:
                    signal.signal(number, lambda number, frame: noted.update({number: None}))
                    after.callback(signal.signal, number, handler)
        yield


def _raise_again(signals: dict[int, None]) -> None:
    for number in signals:
        signal.raise_signal(number)


def _wait(running: dict[int, _Running], slot_seconds: float) -> list[int]:
    """The sentinels of the children that ended or overstayed."""
    now = time.monotonic()
    next_deadline = min(child.started + slot_seconds for child in running.values())
    # A signal that comes between Python's last look and the wait would be seen only after it.
    ready: list[Any] = connection.wait(
        list(running), timeout=min(1.0, max(0.0, next_deadline - now))
    )
    now = time.monotonic()
    overdue = [key for key, child in running.items() if now >= child.started + slot_seconds]
    return list(dict.fromkeys([*ready, *overdue]))


def _finish(child: _Running, unchanged: Unchanged) -> Summary:
    """Take over a child's result, or record why there is none."""
    grading = unchanged.grading
    was_running = child.process.exitcode is None
    exitcode = child.process.exitcode
    _stop(child)
    seconds = time.monotonic() - child.started
    # A complete result counts even if its process failed to end well afterwards.
    result, kept = _result_of(child)
    if result is None:
        if was_running:
            reason = tr(
                "The grader stopped this submission after {n:.0f} s: neither result nor error by "
                "then.",
                n=grading.limits.slot_seconds,
            )
        else:
            how = _how_it_ended(exitcode)
            reason = tr("The grader's process for this submission {how}.", how=how)
        result = error_result(child.found, grading, reason, seconds, tail=tail_of(child.work / LOG))
    summary = keep(result, kept, grading)
    unchanged.note(child.fingerprint, result, summary)
    shutil.rmtree(child.work, ignore_errors=True)
    with contextlib.suppress(ValueError):  # still there: not even SIGKILL ended it
        child.process.close()
    return summary


def keep(result: SubmissionResult, kept: bool, grading: Grading) -> Summary:
    """Write a finished result to the results folder, unless it is an earlier one `kept` there."""
    if result.state == "error":
        require_space(grading.out)
    if not kept:
        replace_record(grading.out, result)
    return summarise(result, kept)


def _result_of(child: _Running) -> tuple[SubmissionResult | None, bool]:
    for name, kept in ((NEW, False), (KEPT, True)):
        with contextlib.suppress(OSError, ValidationError):
            result = SubmissionResult.model_validate_json((child.work / name).read_bytes())
            if result.student == child.found.student:
                return result, kept
    return None, False


def _stop(child: _Running) -> None:
    _end(child.process)


def _end(process: Any) -> None:
    """Kill a child and the rest of its process group, and collect it."""
    if process.exitcode != 0:  # running, or crashed and perhaps survived by its own children
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()  # does nothing to a process that has ended
    process.join(10)


def _how_it_ended(exitcode: int | None) -> str:
    if exitcode is None or exitcode >= 0:
        return tr("ended without a result (exit code {code})", code=exitcode)
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f"signal {-exitcode}"
    hint = tr("; the machine may be short of memory") if -exitcode == signal.SIGKILL else ""
    return tr("was killed by {name}", name=name) + hint
