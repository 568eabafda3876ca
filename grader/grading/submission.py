"""Grade one prepared submission: its own run, the second one, the rules and the names of bugs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from assignment.harness import told
from assignment.harness.cases import load_cases
from assignment.harness.outcome import OUTCOME
from assignment.harness.points import grading_of
from grader.base.errors import GraderError
from grader.diagnosis.lookup import diagnose_outcomes, test_name
from grader.results.record import DiagnosisRecord, SandboxKind, TestResult
from grader.sandbox import Limits, Sandbox, choose_sandbox
from grader.sandbox.remote import RemoteStudent

from . import real_model, second_run
from .ahead import Ahead
from .charges import settled
from .exchange import Exchange, trusted_parts
from .result import visibility_of
from .rules import Gradings, held, with_twin_rule
from .session import GradingSession, RemoteBackend, TrustedSession, run_to_end
from .suite import Suite


@dataclass(frozen=True)
class SuiteOutcome:
    """All tests of one submission, the sandbox they ran in (its kind, and that in words) and what
    the submission printed."""

    tests: list[TestResult]
    sandbox: SandboxKind
    tier: str
    worker_notes: str
    diagnoses: tuple[DiagnosisRecord, ...] = ()
    texts: tuple[str, str] = ("", "")

    @property
    def generated_text(self) -> str:
        return self.texts[0]

    @property
    def expected_text(self) -> str:
        return self.texts[1]


def run_suite(
    suite: Suite, prepared: Path, sandbox_name: str, limits: Limits, slot: int
) -> SuiteOutcome:
    """Run every test on one submission; called in a process of its own.

    Raises:
        SandboxUnavailable: no worker can be started. That is the grader's failure, not a zero.
        GraderError: pytest itself failed.
    """
    sandbox = choose_sandbox(sandbox_name)
    where = (cast(SandboxKind, sandbox.kind), sandbox.tier)
    with RemoteStudent(sandbox, prepared, limits, slot, suite.mapped_files) as remote:
        ahead = Ahead(suite.recording, remote) if suite.recording else None
        session = GradingSession(suite, RemoteBackend(remote), ahead)
        wanted = [test.id for test in suite.blank_tests]
        if ahead and ahead.holds_all(set(wanted)):
            tests = ahead.results(wanted)
            texts = _texts(suite, remote, tests)
            remote.close()
            return SuiteOutcome(tests, *where, worker_notes=remote.output_tail(), texts=texts)
        run_to_end(session)
        seconds_used = remote.seconds_used
        texts = _texts(suite, remote, session.results)
        remote.close()  # a second worker of this slot counts against the same limits
        gradings = {
            test_name(item): grading for item in session.items if (grading := grading_of(item))
        }
        passed = frozenset(test.id for test in session.results if test.state == "passed")
        first_run = FirstRun(ahead, passed)
        helped = second_run.repeated(
            session.results,
            waiting(session.results, gradings),
            partial(_run_again, suite, sandbox, prepared, limits, slot, first_run),
            limits.total_seconds - seconds_used,
        )
        tests = settled(session.results, gradings, helped)
        return SuiteOutcome(tests, *where, remote.output_tail(), _diagnosed(session, tests), texts)


def run_both_ways(
    suite: Suite, prepared: Path, sandbox_name: str, limits: Limits, slot: int
) -> SuiteOutcome:
    """As run_suite, on the recorded calls and then without them.

    Raises:
        GraderError: the two differ in something else than times.
    """
    if suite.recording is None:
        raise GraderError("There is no recording to compare with; see the log of the run.")
    fast = run_suite(suite, prepared, sandbox_name, limits, slot)
    slow = run_suite(suite.unrecorded(), prepared, sandbox_name, limits, slot)
    for one, other in zip(fast.tests, slow.tests, strict=True):
        for name in type(one).model_fields.keys() - {"seconds"}:
            by_record, by_call = getattr(one, name), getattr(other, name)
            if by_record != by_call:
                raise GraderError(
                    f"{one.id} has two verdicts: its {name} is {by_record!r} on recorded calls and "
                    f"{by_call!r} without them. Please report it."
                )
    if fast.diagnoses != slow.diagnoses:
        raise GraderError(
            f"Two diagnoses: {fast.diagnoses} on recorded calls, {slow.diagnoses} without them."
        )
    return fast


@dataclass(frozen=True)
class FirstRun:
    """The student's own run, which tells the verdict where a repeat gets the same replies."""

    ahead: Ahead | None
    passed: frozenset[str]

    def told(self, ahead: Ahead, wanted: set[str]) -> tuple[set[str], set[str]]:
        """Of tests that are repeated, those that are right, and those that have to run."""
        held = {test for test in wanted if ahead.holds(test)}
        same = {
            test
            for test in wanted - held
            if self.ahead is not None and ahead.answers_as(self.ahead, test)
        }
        return held | (same & self.passed), wanted - held - same


def waiting(results: list[TestResult], gradings: Gradings) -> dict[str, int]:
    """Tests that passed and hang on a failing test of another part, with that part."""
    lacking = held(with_twin_rule(results), gradings)
    passed = (test for test in results if test.state == "passed" and test.id in lacking)
    parts = {test.id: (test.part, lacking[test.id].grading.part) for test in passed}
    return {test: part for test, (own, part) in parts.items() if part != own}


def _texts(suite: Suite, remote: RemoteStudent, results: list[TestResult]) -> tuple[str, str]:
    """What the real model writes with a decode that is wrong there, and with a right one.

    A right decode writes the right text, and that need not be waited for.
    """
    model = suite.real_model
    states = {test.state for test in results if test.is_of_real_model}
    if model is None or model.text is None or not states & {"passed", "failed"}:
        return "", ""
    text = model.text
    if "failed" not in states:
        return "", text.expected
    remote.close()  # the words that come must be of a worker that has seen nothing hidden
    remote.begin_test()
    params = remote.mapped_params(real_model.MAPPED_NAME)
    return text.of(remote, model.config, params), text.expected


def _diagnosed(session: GradingSession, results: list[TestResult]) -> tuple[DiagnosisRecord, ...]:
    """What the failures on the public cases equal."""
    outcomes = [
        (item, outcome)
        for item in session.items
        if visibility_of(item) == "public" and (outcome := item.stash.get(OUTCOME, None))
    ]
    if not outcomes:
        return ()
    return tuple(
        DiagnosisRecord(
            part=found.part,
            bugs=found.alternatives,
            n_tests=found.n_tests,
            error=found.error,
            mend_first=found.mend_first,
            fact=told.fact(found),
        )
        for found in diagnose_outcomes(outcomes, {"public": load_cases()}, results)
    )


def _run_again(
    suite: Suite,
    sandbox: Sandbox,
    prepared: Path,
    limits: Limits,
    slot: int,
    first_run: FirstRun,
    exchange: Exchange,
    wanted: set[str],
    seconds: float,
) -> tuple[set[str], float]:
    """Some tests of one part with functions of others exchanged (see second_run.RunAgain)."""
    with RemoteStudent(
        sandbox,
        prepared,
        replace(limits, total_seconds=seconds),
        slot,
        suite.mapped_files,
        trusted=trusted_parts(exchange),
        max_strikes=second_run.MAX_STRIKES,
    ) as remote:
        ahead = Ahead(suite.recording, remote, wanted) if suite.recording else None
        right, rest = first_run.told(ahead, wanted) if ahead else (set(), wanted)
        if rest:
            session = TrustedSession(suite, RemoteBackend(remote), rest, ahead)
            run_to_end(session)
            right |= {test.id for test in session.results if test.state == "passed"}
        return right, remote.seconds_used
