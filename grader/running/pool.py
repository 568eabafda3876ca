"""Grades many submissions at once, each in a process of its own.

A warm server process (multiprocessing's forkserver) has the heavy imports done; every submission
gets a child forked from it. Whatever happens to a child, be it an exception, a crash or a hang,
becomes the state `error` of that one submission. The children hand their results over as files;
only this process writes to the results folder.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from multiprocessing import connection, forkserver, get_context, parent_process
from pathlib import Path
from typing import Any, Generic

from pydantic import ValidationError

from grader.base.errors import GraderError, NothingToGrade, SandboxUnavailable
from grader.base.memory import GRADING_MIB, limit_memory
from grader.base.notes import Note, note
from grader.base.places import ROOT
from grader.base.words import speak, spoken, tr
from grader.intake.course import Course
from grader.intake.prepare import prepare, reason_hash
from grader.intake.submissions import Found
from grader.results.disk import SCRATCH_PREFIX, require_space
from grader.results.history import replace_record
from grader.results.record import SETTLED, SubmissionResult, make_result, read_record, remove_drafts
from grader.results.summary import Summary
from grader.running.protocols import Backend, SuiteT
from grader.running.slots import hold_slot
from grader.sandbox import Limits

PRELOAD = (
    "numpy",
    "pytest",
    "hypothesis",
    "grader.running.preload",
    "grader.running.pool",
    "grader.cli.main",
)
LOCK_NAME = ".grader.lock"
_NEW, _KEPT, _LOG = "new.json", "kept.json", "harness.log"
_TAIL_BYTES = 8_000
_PR_SET_PDEATHSIG = 1
HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# On a cluster's worker several threads grade; multiprocessing's own books are for one.
_BOOKS = threading.RLock()


@dataclass(frozen=True)
class Grading(Generic[SuiteT]):
    """Everything that is the same for all submissions of a run. Travels to the children."""

    out: Path
    run: Backend[SuiteT]
    suite: SuiteT
    suite_hash: str
    suite_version: str
    course: Course
    sandbox: str = "auto"
    limits: Limits = field(default_factory=Limits)
    regrade: bool = False
    deadline_s: float = 300.0  # for all of one submission, far beyond the budgets inside
    # Of the messages in the records; None: by each machine's locale.
    language: str | None = None


@dataclass
class _Running:
    process: Any
    found: Found
    slot: int
    work: Path
    started: float = field(default_factory=time.monotonic)


# --------------------------------------------------------------------------------- main process


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
    free_slots = list(range(min(jobs, len(waiting))))
    running: dict[int, _Running] = {}
    # 0711: the sandbox's user must pass through by name, nobody needs to list it.
    scratch = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=grading.out.resolve()))
    scratch.chmod(0o711)
    context = get_context("forkserver")
    _start_server(context, preload)
    try:
        while waiting or running:
            while waiting and free_slots:
                # An interrupt between a child's start and its entry here would lose sight of it.
                with uninterrupted(), _BOOKS:
                    slot = free_slots.pop(0)
                    child = _start(context, waiting.popleft(), grading, slot, scratch)
                    running[child.process.sentinel] = child
            for sentinel in _wait(running, grading.deadline_s):
                with uninterrupted(), _BOOKS:
                    child = running[sentinel]
                    done.append(_finish(child, grading))
                    del running[sentinel]
                    free_slots.append(child.slot)
                yield done[-1]
    finally:
        with uninterrupted(), _BOOKS:
            for child in running.values():
                _stop(child)
            shutil.rmtree(scratch, ignore_errors=True)


def usable_cores() -> int:
    """The cores this process may use, which in a container can be fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


def _start(context: Any, found: Found, grading: Grading, slot: int, scratch: Path) -> _Running:
    work = Path(tempfile.mkdtemp(dir=scratch))
    work.chmod(0o711)
    process = context.Process(target=_child, args=(found, grading, slot, work), daemon=False)
    process.start()
    return _Running(process, found, slot, work)


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


def _wait(running: dict[int, _Running], deadline_s: float) -> list[int]:
    """The sentinels of the children that ended or overstayed."""
    now = time.monotonic()
    next_deadline = min(child.started + deadline_s for child in running.values())
    # A signal that comes between Python's last look and the wait would be seen only after it.
    ready: list[Any] = connection.wait(
        list(running), timeout=min(1.0, max(0.0, next_deadline - now))
    )
    now = time.monotonic()
    overdue = [key for key, child in running.items() if now >= child.started + deadline_s]
    return list(dict.fromkeys([*ready, *overdue]))


def _finish(child: _Running, grading: Grading) -> Summary:
    """Take over a child's result, or record why there is none."""
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
                n=grading.deadline_s,
            )
        else:
            how = _how_it_ended(exitcode)
            reason = tr("The grader's process for this submission {how}.", how=how)
        result = error_result(child.found, grading, reason, seconds, tail=_tail(child.work / _LOG))
    summary = keep(result, kept, grading)
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
    for name, kept in ((_NEW, False), (_KEPT, True)):
        with contextlib.suppress(OSError, ValidationError):
            result = SubmissionResult.model_validate_json((child.work / name).read_bytes())
            if result.student == child.found.student:
                return result, kept
    return None, False


def _stop(child: _Running) -> None:
    """Kill a child and the rest of its process group, and collect it."""
    process = child.process
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


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""


def error_result(
    found: Found, grading: Grading, reason: str, seconds: float, tail: str = ""
) -> SubmissionResult:
    """The record of a submission that the grader, not the student, failed on."""
    return make_result(
        student=found.student,
        source=found.source_name,
        submission_hash="",
        suite_hash=grading.suite_hash,
        suite_version=grading.suite_version,
        state="error",
        reason=reason,
        seconds=seconds,
        notes=found.notes,
        output_tail=tail,
    )


def summarise(result: SubmissionResult, kept: bool = False) -> Summary:
    """The few numbers and words of a result that the class table needs."""
    return Summary(
        student=result.student,
        state=result.state,
        kept=kept,
        parts=tuple(
            (row.part, row.public + row.hidden, row.public_max + row.hidden_max)
            for row in result.parts
        ),
        public=sum(row.public for row in result.parts),
        hidden=sum(row.hidden for row in result.parts),
        total=result.total,
        max_total=result.max_total,
        problem=_first_problem(result)[:160],
    )


def _first_problem(result: SubmissionResult) -> str:
    if result.state in ("missing", "error"):
        return result.reason
    failing = [test for test in result.tests if test.state != "passed"]
    named = [found.fact for found in result.diagnoses if found.bugs]
    if named:
        return named[0]
    # What the student did wrong says more than what was never begun.
    failing.sort(key=lambda test: test.state in ("not_started", "waiting"))
    if not failing:
        return ""
    first = failing[0]
    lines = first.message.strip().splitlines()
    if lines and first.state in ("not_started", "waiting"):
        return lines[0]  # the stub that was reached names its own section
    # Where it goes wrong says more than that shape and dtype are right.
    words = first.where or next(iter(lines), spoken(first.state.replace("_", " ")))
    return f"{first.section} {words}"


# ---------------------------------------------------------------------------------------- child


def _child(found: Found, grading: Grading, slot: int, work: Path) -> None:
    """Grade one submission and leave the result in `work`."""
    _detach(work)
    limit_memory(GRADING_MIB)
    speak(grading.language)
    started = time.monotonic()
    try:
        with hold_slot(slot) as slot_of_machine:
            result, kept = grade_one(found, grading, slot_of_machine, work)
    except BaseException as problem:  # SystemExit and KeyboardInterrupt from the harness too
        traceback.print_exc()
        is_sentence = isinstance(problem, GraderError | SandboxUnavailable)
        words = str(problem)[:1000]
        kind = type(problem).__name__
        reason = words if is_sentence else tr("The grader failed: {what}", what=f"{kind}: {words}")
        seconds = time.monotonic() - started
        result, kept = error_result(found, grading, reason, seconds, _tail(work / _LOG)), False
    draft = work / "draft.json"
    draft.write_text(result.model_dump_json())
    draft.replace(work / (_KEPT if kept else _NEW))


def grade_one(
    found: Found, grading: Grading, slot: int, work: Path
) -> tuple[SubmissionResult, bool]:
    """The result of one submission, and whether it is an earlier one that still holds."""
    started = time.monotonic()
    fields = {
        "student": found.student,
        "source": found.source_name,
        "suite_hash": grading.suite_hash,
        "suite_version": grading.suite_version,
    }
    try:
        prepared = prepare(found, work / "submission", grading.course)
    except NothingToGrade as verdict:
        fields["submission_hash"] = reason_hash(str(verdict))
        earlier, refusal = _earlier(grading, fields)
        if earlier is not None:
            return earlier, True
        result = make_result(
            **fields,
            state="missing",
            reason=str(verdict),
            tests=grading.suite.blank_tests,
            seconds=time.monotonic() - started,
            notes=(*found.notes, *filter(None, [refusal])),
        )
        return result, False
    fields["submission_hash"] = prepared.submission_hash
    earlier, refusal = _earlier(grading, fields)
    if earlier is not None:
        return earlier, True
    outcome = grading.run(grading.suite, prepared.folder, grading.sandbox, grading.limits, slot)
    if not outcome.tests:
        raise GraderError("The test suite ran no test; the grader's installation is incomplete.")
    unfinished = any(test.state == "out_of_time" for test in outcome.tests)
    result = make_result(
        **fields,
        state="partial" if unfinished else "graded",
        tests=outcome.tests,
        sandbox=outcome.sandbox,
        sandbox_tier=outcome.tier,
        limits=asdict(grading.limits),
        seconds=time.monotonic() - started,
        notes=(*prepared.notes, *_stub_note(prepared), *filter(None, [refusal])),
        output_tail=outcome.worker_notes,
        diagnoses=tuple(outcome.diagnoses),
        generated_text=outcome.generated_text,
        expected_text=outcome.expected_text,
    )
    return result, False


def _earlier(grading: Grading, fields: dict) -> tuple[SubmissionResult | None, Note | None]:
    """An earlier result of the same work by the same suite, else a note on why one was refused."""
    if grading.regrade:
        return None, None
    earlier, refusal = read_record(grading.out, fields["student"])
    if earlier is None:
        return None, refusal
    same = all(getattr(earlier, name) == fields[name] for name in ("submission_hash", "suite_hash"))
    # Results of a run without a sandbox could have been forged by the submission.
    trusted = grading.sandbox == "none" or earlier.sandbox != "none"
    return (earlier if same and trusted and earlier.state in SETTLED else None), None


def _stub_note(prepared) -> list[Note]:
    if not prepared.from_stubs or "notebook_cells.json" in prepared.taken:
        return []
    return [note("from_stubs", files=tuple(prepared.from_stubs))]


def _end_with_main_process() -> None:
    """Wait for the main process's death, however it came, and end this group with it.

    The server does not tell: it lives as long as any child, and the kernel's own signal (below)
    follows the server.
    """
    parent = parent_process()
    if parent is None:
        return
    connection.wait([parent.sentinel])
    os.killpg(0, signal.SIGKILL)


def _detach(work: Path) -> None:
    """Cut the child off from the terminal and tie its life to the main process's."""
    os.setsid()  # Ctrl-C reaches the main process only, and the group can be killed as one
    threading.Thread(target=_end_with_main_process, daemon=True).start()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    descriptor = os.open(work / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    import faulthandler

    faulthandler.enable()
