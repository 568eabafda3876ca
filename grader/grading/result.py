"""What came of one collected test, as a record keeps it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import pytest

from assignment.harness import draws
from assignment.harness.outcome import FAILED, Outcome
from assignment.harness.points import grading_of
from grader.base.errors import GraderError
from grader.base.places import HIDDEN_TESTS
from grader.diagnosis.lookup import test_name
from grader.results.record import CaseSet, ImportFailure, TestResult, TestState, Visibility

OUT_OF_BUDGET = pytest.StashKey[bool]()


def result_of(item: pytest.Function, outcome: Outcome | None, seconds: float = 0.0) -> TestResult:
    grading = grading_of(item)
    if grading is None:
        raise GraderError(f"The test {test_name(item)} has no points; mark it with `graded`.")
    state, message = (outcome.state, outcome.message) if outcome else ("not_started", "")
    if item.stash.get(OUT_OF_BUDGET, False) and state == FAILED:
        state = "out_of_time"
    return TestResult(
        id=test_name(item),
        file=item.path.name,
        function=item.originalname,
        case_set=_case_set(item),
        case=case_of(item),
        part=grading.part,
        section=grading.section,
        title=grading.title,
        variant=grading.variant,
        visibility=visibility_of(item),
        points=outcome.points if outcome else 0.0,
        max_points=grading.points,
        state=cast(TestState, state),
        message=message,
        where=outcome.where if outcome else "",
        import_failure=_import_failure(outcome),
        first_bad_step=outcome.first_bad.get("step") if outcome else None,
        max_error=outcome.max_error if outcome else None,
        tolerance=outcome.tolerance if outcome else None,
        **_plotted(item, outcome),
        seconds=seconds,
    )


def _import_failure(outcome: Outcome | None) -> ImportFailure | None:
    failure = outcome.import_failure if outcome else None
    return ImportFailure(**asdict(failure)) if failure else None


def _plotted(item: pytest.Function, outcome: Outcome | None) -> dict[str, Any]:
    """For the student's own plots, so of public cases only."""
    if outcome is None or visibility_of(item) == "hidden":
        return {}
    return {"error_by_step": outcome.error_by_step, "difference": outcome.difference}


def with_remark(result: TestResult) -> TestResult:
    """A student who runs a failing test at home may see it pass: its examples are others there."""
    remark = draws.remark()
    if not remark or result.state != FAILED or result.visibility != "public":
        return result
    return result.model_copy(update={"message": f"{result.message}\n{remark}"})


def visibility_of(item: pytest.Function) -> Visibility:
    """By the cases a test runs on; a test without cases is as public as its file."""
    by_file: Visibility = "hidden" if item.path.parent == HIDDEN_TESTS else "public"
    return _case_set(item) or by_file


def _case_set(item: pytest.Function) -> CaseSet | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("oracle") if callspec else None


def case_of(item: pytest.Function) -> str:
    """pytest's name of the parameters without the set of cases, which has a name of its own."""
    if (case_set := _case_set(item)) is None:
        return item.callspec.id if hasattr(item, "callspec") else ""
    names = item.callspec.id.split("-")
    names.remove(case_set)
    return "-".join(names)
