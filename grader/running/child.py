"""One submission's work, in a process of its own: its result, or the record of why there is none.

The result is left as a file for the main process (pool.py), which alone writes to the results.
"""

import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field
from multiprocessing import connection, parent_process
from pathlib import Path
from typing import Generic

from grader.base.errors import GraderError, NothingToGrade, SandboxUnavailable
from grader.base.memory import GRADING_MIB, limit_memory
from grader.base.notes import Note, note
from grader.base.words import speak, tr
from grader.intake.course import Course
from grader.intake.prepare import prepare, reason_hash
from grader.intake.submissions import Found
from grader.results.record import SETTLED, SubmissionResult, make_result, read_record
from grader.running.protocols import Backend, Record, SuiteT
from grader.running.slots import hold_slot
from grader.sandbox import Limits

NEW, KEPT, LOG = "new.json", "kept.json", "harness.log"
_TAIL_BYTES = 8_000
_PR_SET_PDEATHSIG = 1


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
    rehash: bool = False  # read what looks unchanged, see grader.running.unchanged
    accept_names: bool = False  # of files, see grader.intake.near_names
    # Of the messages in the records; None: by each machine's locale.
    language: str | None = None
    # Makes the next submissions cheaper, once so many are graded (see grader.grading.rehearsal).
    record: Record[SuiteT] | None = None
    record_after: int = 2

    def keeps(self, suite_hash: str, state: str, sandbox: str | None) -> bool:
        """Whether a record of the same work stands: by this suite, settled, and to be trusted."""
        # Results of a run without a sandbox could have been forged by the submission.
        trusted = self.sandbox == "none" or sandbox != "none"
        return suite_hash == self.suite_hash and state in SETTLED and trusted


def run_child(found: Found, grading: Grading, slot: int, work: Path) -> None:
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
        result, kept = error_result(found, grading, reason, seconds, tail_of(work / LOG)), False
    draft = work / "draft.json"
    draft.write_text(result.model_dump_json())
    draft.replace(work / (KEPT if kept else NEW))


def record_suite(grading: Grading, slot: int, work: Path) -> None:
    """Make the recording; where this fails there is none, and the log says why."""
    _detach(work)
    limit_memory(GRADING_MIB)
    speak(grading.language)
    assert grading.record is not None
    with hold_slot(slot) as slot_of_machine:
        grading.record(grading.suite, grading.sandbox, grading.limits, slot_of_machine)


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
        prepared = prepare(
            found, work / "submission", grading.course, accept_names=grading.accept_names
        )
    except NothingToGrade as verdict:
        fields["submission_hash"] = reason_hash(verdict.reason)
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
    same = earlier.submission_hash == fields["submission_hash"]
    stands = grading.keeps(earlier.suite_hash, earlier.state, earlier.sandbox)
    return (earlier if same and stands else None), None


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
    descriptor = os.open(work / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    import faulthandler

    faulthandler.enable()


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


def tail_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return file.read(_TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""
