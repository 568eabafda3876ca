"""Diagnosis in the grader: the tests are run again, here, on the solution with known bugs in it.

Only trusted code runs here. The student's part in it is the arrays that came back before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cache

import numpy as np
import pytest

from assignment.harness import plugin
from assignment.harness.cases import Cases
from assignment.harness.compare import Mismatch
from assignment.harness.diagnosis import (
    NO_ARRAY,
    NOT_COMPARED,
    PASSED,
    UNKNOWN,
    UNREACHED,
    Diagnosis,
    Observation,
    Seen,
    Signatures,
    diagnose,
    print_of,
    with_exact_errors,
)
from assignment.harness.known_bugs import StoredSignatures
from assignment.harness.outcome import Outcome
from assignment.harness.parts import PART_BY_NUMBER
from assignment.harness.points import grading_of
from assignment.harness.student import Student
from grader.known_bugs import Conflict, Variant, all_bugs, bug_named, make_variant, noting_calls
from grader.results.record import TestResult

# Tests whose arrays are compared: those on fixed cases, and no fixture beside.
_FIXTURES = {"student", "oracle", "request"}


@cache
def variant_with(bugs: tuple[str, ...]) -> Variant:
    """The solution with these bugs; made once in a process."""
    return make_variant(bug_named(name) for name in bugs)


def is_comparable(item: pytest.Function) -> bool:
    """Whether a test runs on a fixed case, so that two runs of it can be compared."""
    if "oracle" not in item.fixturenames or grading_of(item) is None:
        return False
    return set(item.fixturenames) <= _FIXTURES | set(item.callspec.params)


def replay(item: pytest.Function, variant: Variant, case_sets: dict[str, Cases]) -> Seen:
    """What a collected test sees of a variant of the solution."""
    arguments = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    if "oracle" in arguments:
        arguments["oracle"] = plugin.Oracle(case_sets[str(arguments["oracle"])])
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            item.obj(student=Student(variant), **arguments)
    except Mismatch as mismatch:
        return print_of(mismatch.got)
    except Exception:
        return NO_ARRAY
    return PASSED


class LiveSignatures:
    """Computes what bugs do in the collected tests when it is asked.

    A bug in functions that a test does not call is left out of that test: it changes nothing in it.

    Args:
        stored: where single bugs are looked up first.
    """

    def __init__(
        self,
        items: Iterable[pytest.Function],
        case_sets: dict[str, Cases],
        stored: Signatures | None = None,
    ) -> None:
        self._items = {test_name(item): item for item in items}
        self._case_sets = case_sets
        self._stored = stored
        self._seen: dict[tuple[str, tuple[str, ...]], Seen] = {}
        self._called: dict[tuple[str, tuple[str, ...]], set[str]] = {}

    def bugs_of(self, part: int) -> tuple[str, ...]:
        return tuple(bug.name for bug in all_bugs() if bug.part == part)

    def reaches(self, test: str) -> frozenset[int]:
        return StoredSignatures().reaches(test)

    def tests_of(self, part: int) -> frozenset[str]:
        return StoredSignatures().tests_of(part)

    def seen(self, test: str, bugs: tuple[str, ...]) -> Seen:
        if self._stored is not None and len(bugs) == 1:
            return self._stored.seen(test, bugs)
        put_in: tuple[str, ...] = ()
        while put_in != bugs:
            called = self._calls(test, put_in)
            met = tuple(n for n in bugs if n in put_in or bug_named(n).places & called)
            if met == put_in:
                break
            put_in = met
        if (test, put_in) not in self._seen:
            self._seen[test, put_in] = self._replayed(test, put_in)
        return self._seen[test, put_in]

    def _calls(self, test: str, bugs: tuple[str, ...]) -> set[str]:
        """The functions of a solution with these bugs that the test calls."""
        if (test, bugs) not in self._called:
            with noting_calls() as called:
                self._seen[test, bugs] = self._replayed(test, bugs)
            self._called[test, bugs] = called
        return self._called[test, bugs]

    def _replayed(self, test: str, bugs: tuple[str, ...]) -> Seen:
        try:
            variant = variant_with(bugs)
        except Conflict:
            return UNKNOWN  # no code can have all of these
        return replay(self._items[test], variant, self._case_sets)


def test_name(item: pytest.Function) -> str:
    """A test's name wherever the project lies: `test_part3_rope.py::test_rope[public-float64]`."""
    return f"{item.path.name}::{item.name}"


def observation_of(item: pytest.Function, outcome: Outcome) -> Observation:
    """What a test saw of a student's code."""
    seen = PASSED if outcome.state == "passed" else print_of(outcome.got)
    return Observation(test_name(item), outcome.grading.part, seen)


def _not_compared(test: TestResult) -> Observation:
    """What a test says of its part that draws its own examples, is hidden, or met a stub.

    One that passed with trusted versions of other parts only was not reached in the student's own.
    """
    seen = NOT_COMPARED if test.state in ("failed", "out_of_time") else UNREACHED
    if test.state == "passed" and not test.with_trusted_parts:
        seen = PASSED
    return Observation(test.id, test.part, seen)


def diagnose_outcomes(
    outcomes: Iterable[tuple[pytest.Function, Outcome]],
    case_sets: dict[str, Cases],
    results: Iterable[TestResult],
) -> list[Diagnosis]:
    """Findings for a whole run, from its tests on the public cases.

    Single bugs are looked up in the stored signatures; what is found is then computed here once
    more, for the error that is stated.

    Args:
        results: of all tests, those that passed with trusted versions of the other parts marked.
    """
    results = list(results)
    pairs = [(item, outcome) for item, outcome in outcomes if is_comparable(item)]
    tried = [(i, o) for i, o in pairs if o.state in ("passed", "failed")]
    if all(outcome.state == "passed" for _, outcome in tried):
        return []
    items = [item for item, _ in pairs]
    observations = [observation_of(item, outcome) for item, outcome in tried]
    compared = {observation.test for observation in observations}
    observations += [_not_compared(test) for test in results if test.id not in compared]
    right_alone = {test.id for test in results if test.with_trusted_parts}
    signatures = LiveSignatures(items, case_sets, StoredSignatures())
    findings = diagnose(observations, signatures, right_alone)
    return with_exact_errors(findings, observations, LiveSignatures(items, case_sets))


def reached_parts(item: pytest.Function, case_sets: dict[str, Cases]) -> list[int]:
    """The parts whose functions run when a test runs on the solution."""
    with noting_calls() as called:
        replay(item, variant_with(()), case_sets)
    return [
        part.number
        for part in PART_BY_NUMBER.values()
        if called & {f"{part.module_of(name)}.{name}" for name in part.functions}
    ]
