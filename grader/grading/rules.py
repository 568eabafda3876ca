"""Rules by which a test that passed earns nothing: its twin failed, or one that it hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assignment.harness.points import Grading, Ran, hanging, until_right
from grader.base.words import tr
from grader.results.record import TestResult, TwinKey

Gradings = Mapping[str, Grading]


def with_twin_rule(results: Sequence[TestResult]) -> list[TestResult]:
    """A public case earns its points only where the same test passes on the hidden case.

    The public cases come with their answers: a table of them would pass otherwise.
    """
    confirmed = {
        result.twin_key
        for result in results
        if result.case_set == "hidden" and result.state == "passed"
    }
    return [_unless_twin_failed(result, confirmed) for result in results]


def _unless_twin_failed(result: TestResult, confirmed: set[TwinKey]) -> TestResult:
    if result.case_set != "public" or result.state != "passed" or result.twin_key in confirmed:
        return result
    message = tr("right on the public case and wrong on a hidden one of the same kind")
    return result.model_copy(
        update={
            "state": "failed",
            "points": 0.0,
            "message": message,
            "with_trusted_parts": False,
            "trusted_parts": (),
        }
    )


def held(results: Sequence[TestResult], gradings: Gradings) -> dict[str, Ran]:
    """Tests that pay nothing until another is right (see `graded`), each with that other one.

    A trusted version does what the other one asks of a part that has points, and so a charge; or of
    one that does not run at all: that file is at fault, whatever is in it.
    """
    without_trust = _held(results, gradings, trusted=frozenset())
    has_points = {r.part for r in results if r.points and r.id not in without_trust}
    does_not_run = {r.part for r in results if r.import_failure is not None}
    return _held(results, gradings, frozenset(has_points | does_not_run))


def _held(
    results: Sequence[TestResult], gradings: Gradings, trusted: frozenset[int]
) -> dict[str, Ran]:
    found = hanging(
        Ran(r.id, gradings[r.id], r.state == "passed", trusted.intersection(r.trusted_parts))
        for r in results
        if r.state != "out_of_time"
    )
    # A submission can raise the stub's own words where it likes: "not started" is no proof either.
    unfinished = {r.id for r in results if r.state not in ("passed", "failed")}
    return {test: needed for test, needed in found.items() if test not in unfinished}


def with_needs(results: Sequence[TestResult], gradings: Gradings) -> list[TestResult]:
    """A test earns its points only where the tests that it hangs on are right."""
    lacking = held(results, gradings)
    return [
        result.model_copy(
            update={
                "state": "waiting",
                "points": 0.0,
                "message": until_right(lacking[result.id]),
                "held_by": lacking[result.id].test,
                "with_trusted_parts": False,
                "trusted_parts": (),
            }
        )
        if result.id in lacking
        else result
        for result in results
    ]
