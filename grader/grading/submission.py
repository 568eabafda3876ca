"""Grade one prepared submission: its own run, the second one, the rules and the names of bugs."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from assignment.harness import told
from assignment.harness.cases import load_cases
from assignment.harness.outcome import OUTCOME
from assignment.harness.points import grading_of
from grader.diagnosis.lookup import diagnose_outcomes, test_name
from grader.results.record import DiagnosisRecord, SandboxKind, TestResult
from grader.sandbox import Limits, Sandbox, choose_sandbox
from grader.sandbox.remote import RemoteStudent

from . import real_model, second_run
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
    seconds: float
    worker_notes: str
    diagnoses: tuple[DiagnosisRecord, ...] = ()
    generated_text: str = ""
    expected_text: str = ""


def run_suite(
    suite: Suite, prepared: Path, sandbox_name: str, limits: Limits, slot: int
) -> SuiteOutcome:
    """Run every test on one submission; called in a process of its own.

    Raises:
        SandboxUnavailable: no worker can be started. That is the grader's failure, not a zero.
        GraderError: pytest itself failed.
    """
    started = time.monotonic()
    sandbox = choose_sandbox(sandbox_name)
    with RemoteStudent(sandbox, prepared, limits, slot, suite.mapped_files) as remote:
        session = GradingSession(suite, RemoteBackend(remote))
        run_to_end(session)
        seconds_used = remote.seconds_used
        texts = _texts(suite, remote, session.results)
        remote.close()  # a second worker of this slot counts against the same limits
        gradings = {
            test_name(item): grading for item in session.items if (grading := grading_of(item))
        }
        helped = second_run.repeated(
            session.results,
            waiting(session.results, gradings),
            partial(_run_again, suite, sandbox, prepared, limits, slot),
            limits.total_seconds - seconds_used,
        )
        tests = settled(session.results, gradings, helped)
        return SuiteOutcome(
            tests,
            cast(SandboxKind, sandbox.kind),
            sandbox.tier,
            time.monotonic() - started,
            remote.output_tail(),
            _diagnosed(session, tests),
            *texts,
        )


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
    remote.begin_test("text")
    params = remote.mapped_params(real_model.MAPPED_NAME)
    return text.of(remote, model.config, params), text.expected


def _diagnosed(session: GradingSession, results: list[TestResult]) -> tuple[DiagnosisRecord, ...]:
    """What the failures on the public cases equal."""
    outcomes = [
        (item, outcome)
        for item in session.items
        if visibility_of(item) == "public" and (outcome := item.stash.get(OUTCOME, None))
    ]
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
        session = TrustedSession(suite, RemoteBackend(remote), wanted)
        run_to_end(session)
        right = {test.id for test in session.results if test.state == "passed"}
        return right, remote.seconds_used
