"""Rules by which a test that passed earns nothing: its twin failed, or one that it hangs on."""

from __future__ import annotations

import pytest

from assignment.harness.points import Ran, grading_of, hanging, until_right
from grader.base.words import tr
from grader.diagnosis.lookup import test_name
from grader.results.record import TestResult, TwinKey


def with_twin_rule(results: list[TestResult]) -> list[TestResult]:
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
    return result.model_copy(update={"state": "failed", "points": 0.0, "message": message})


def with_needs(results: list[TestResult], items: list[pytest.Function]) -> list[TestResult]:
    """A test earns its points only where the tests that it hangs on are right (see `graded`)."""
    gradings = {test_name(item): grading for item in items if (grading := grading_of(item))}
    ran = [
        Ran(r.id, gradings[r.id], r.state == "passed", r.with_trusted_parts)
        for r in results
        if r.state in ("passed", "failed")
    ]
    held = hanging(ran)
    return [
        result.model_copy(
            update={
                "state": "waiting",
                "points": 0.0,
                "message": until_right(held[result.id]),
                "with_trusted_parts": False,
            }
        )
        if result.id in held
        else result
        for result in results
    ]
