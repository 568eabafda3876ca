"""Which graded cell stands for which tests, so that two ways of grading give one score.

A cell is a public test with one choice of parameters, together with the same test on hidden cases;
a test that is hidden only has a cell of its own. A cell's points are theirs together, and it earns
all of them or none, as in nbgrader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from assignment.harness.parts import PART_BY_NUMBER, PARTS
from grader.base.errors import GraderError
from grader.base.words import spoken, spoken_title, tr
from grader.reports.class_table import fact
from grader.results.record import SubmissionResult, TestResult

HIDDEN_FAILED = "right on the public case and wrong on a hidden one of the same kind"
HIDDEN_ONLY_FAILED = "this hidden test fails"

# (notebook, grade_id): a cell's name in nbgrader's gradebook, for one assignment.
CellKey = tuple[str, str]


@dataclass(frozen=True)
class GradeCell:
    """One autograded cell.

    Attributes:
        case: pytest's name of the parameters, "" where there are none.
        title, variant: what is tested, as in the class table.
        hidden_only: nothing of it runs on the student's machine.
        tests: ids of the tests it stands for.
    """

    part: int
    section: str
    test: str
    case: str
    title: str
    variant: str
    points: float
    hidden_only: bool
    tests: tuple[str, ...]

    @property
    def grade_id(self) -> str:
        """Its name in nbgrader: letters, digits, `-` and `_`."""
        return re.sub(r"[^\w-]", "_", "-".join(filter(None, (self.test, self.case))))

    @property
    def key(self) -> CellKey:
        return notebook_name(self.part), self.grade_id


def notebook_name(part: int) -> str:
    """The notebook of a part, without the suffix."""
    return f"part{part}"


def solution_id(function: str) -> str:
    """The name in nbgrader of the cell where a student writes a function."""
    return f"write-{function}"


@cache
def grade_cells() -> tuple[GradeCell, ...]:
    """Every autograded cell, in the order of the parts, their sections and their tests."""
    from pathlib import Path

    from grader.grading.suite import Suite, collect

    # Names only: neither cases nor the real model, whose test has no place in a notebook.
    tests = collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    groups: dict[tuple[str, str], list[TestResult]] = {}
    for test in tests:
        groups.setdefault((test.function, test.case), []).append(test)
    cells = [_cell(group) for group in groups.values()]
    return tuple(sorted(cells, key=lambda cell: tuple(map(int, cell.section.split(".")))))


def scores_of(result: SubmissionResult) -> dict[CellKey, float]:
    """The points of every graded cell.

    Raises:
        GraderError: the record lacks a test: it is of another version of the suite.
    """
    passed = {test.id: test.state == "passed" for test in result.tests}
    charges = {test.id: test.charge.points for test in result.tests if test.charge}
    if lacking := [test for cell in grade_cells() for test in cell.tests if test not in passed]:
        raise GraderError(
            f"The result of {result.student} lacks the test {lacking[0]}: it is of another version "
            "of the tests. Grade the submission again."
        )
    return {
        cell.key: max(0.0, cell.points - sum(charges.get(test, 0.0) for test in cell.tests))
        if all(passed[test] for test in cell.tests)
        else 0.0
        for cell in grade_cells()
    }


def messages_of(result: SubmissionResult) -> dict[CellKey, str]:
    """Why a cell earned nothing, in words a student may read: of hidden tests only that."""
    by_id = {test.id: test for test in result.tests}
    messages = {}
    for cell in grade_cells():
        failed = [by_id[test] for test in cell.tests if test in by_id]
        failed = [test for test in failed if test.state != "passed"]
        if failed:
            shown = [test for test in failed if test.visibility == "public"]
            hidden = HIDDEN_ONLY_FAILED if cell.hidden_only else HIDDEN_FAILED
            messages[cell.key] = _words(shown[0]) if shown else spoken(hidden)
    return messages


def comments_of(result: SubmissionResult) -> dict[CellKey, str | None]:
    """For each function's cell the bug's name and what failed, or None where nothing did.

    Each test's own words stand below its cell.
    """
    messages = messages_of(result)
    facts: Mapping[int, str] = {found.part: fact(found) for found in result.diagnoses}
    functions = [(part, name) for part in PARTS for name in part.functions]
    lines: dict[CellKey, list[str]] = {
        (notebook_name(part.number), solution_id(name)): [] for part, name in functions
    }
    for cell in grade_cells():
        if cell.key not in messages:
            continue
        function = PART_BY_NUMBER[cell.part].functions[int(cell.section.split(".")[1]) - 1]
        of_function = lines[notebook_name(cell.part), solution_id(function)]
        if not of_function and cell.part in facts:
            of_function.append(f"{facts[cell.part]}\n")  # nbgrader reads it as markdown
        hidden = tr(" (hidden test)") if cell.hidden_only else ""
        of_function.append(f"- ✗ {spoken_title(cell.title, cell.variant)}{hidden}")
    return {key: "\n".join(of_function) or None for key, of_function in lines.items()}


def _words(test: TestResult) -> str:
    return test.message.strip() or spoken(test.state.replace("_", " "))


def _cell(group: list[TestResult]) -> GradeCell:
    first = group[0]
    return GradeCell(
        part=first.part,
        section=first.section,
        test=first.function,
        case=first.case,
        title=first.title,
        variant=first.variant,
        points=round(sum(test.max_points for test in group), 6),
        hidden_only=all(test.visibility == "hidden" for test in group),
        tests=tuple(test.id for test in group),
    )
