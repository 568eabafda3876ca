"""What a class's grades and tests say as a whole.

Deviations are of a sample (n - 1), quartiles are interpolated as numpy's and R's default do, and a
test's discrimination is its point-biserial correlation with the rest of the points: Pearson's of
passed (0 or 1) and the student's points without those of the test itself (Allen & Yen, Introduction
to Measurement Theory, 1979, ch. 6). Above 0.3 a test tells strong from weak work; around 0 it is
about something else; below 0 look at the test.
"""

import csv
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from assignment.harness.words import plain
from grader.grades.class_scores import ClassScores, record_of, score_class
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.results.record import SubmissionResult, TestResult

LONG_COLUMNS = (
    *("homework", "student", "submission", "test", "part", "section", "title", "visibility"),
    *("state", "passed", "points", "max_points", "with_trusted_parts", "seconds"),
)


@dataclass(frozen=True)
class Summary:
    """Of some numbers; None where there are too few."""

    n: int
    mean: float | None = None
    deviation: float | None = None
    quartiles: tuple[float, float, float] | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        """The summary of these numbers."""
        if not values:
            return cls(0)
        if len(values) == 1:
            (only,) = values
            return cls(1, only, None, (only, only, only), only, only)
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        mean, deviation = statistics.fmean(values), statistics.stdev(values)
        return cls(len(values), mean, deviation, (low, middle, high), min(values), max(values))


@dataclass(frozen=True)
class TestStatistics:
    """One test over the class.

    Attributes:
        n, n_passed: of those who handed in.
        discrimination: None where all passed, or none.
    """

    __test__ = False

    id: str
    part: int
    section: str
    title: str
    variant: str
    visibility: str
    n: int
    n_passed: int
    discrimination: float | None

    @property
    def share(self) -> float:
        """Who passed, in percent."""
        return 100 * self.n_passed / self.n if self.n else 0.0


@dataclass(frozen=True)
class ClassStatistics:
    """A homework in numbers.

    Attributes:
        grades: of all who have one, work that is missing included.
        parts: percent of each part's points, of those who handed in.
        seconds: of the clock, while one submission was graded beside the others.
        n_missing: of `grades`, those who handed in nothing gradable.
    """

    name: str
    max_points: float
    grades: Summary
    parts: dict[int, Summary]
    tests: tuple[TestStatistics, ...]
    seconds: Summary
    seconds_in_all: float
    n_missing: int
    n_without_grade: int
    problems: tuple[str, ...] = ()


@dataclass
class _Tests:
    """Who passed which test, gathered from the records one at a time."""

    first: dict[str, TestResult] = field(default_factory=dict)
    passed: dict[str, list[tuple[bool, float]]] = field(default_factory=dict)

    def add(self, record: SubmissionResult) -> None:
        for test in record.tests:
            self.first.setdefault(test.id, test)
            rest = record.total - test.points
            self.passed.setdefault(test.id, []).append((test.state == "passed", rest))


def class_statistics(
    results: Path, policy: Policy, submitted: Path | None = None
) -> ClassStatistics:
    """The statistics of one results folder; the record of each student that counts."""
    scores = score_class(results, policy, submitted)
    tests, seconds = _Tests(), []
    for record in _records(results, scores):
        if record.state in ("graded", "partial"):
            tests.add(record)
        if record.seconds > 0:
            seconds.append(record.seconds)
    graded = [score for score in scores if score.final is not None]
    handed_in = [score for score in graded if score.state in ("graded", "partial")]
    return ClassStatistics(
        results.resolve().name,
        scores.max_points,
        Summary.of([score.final for score in graded if score.final is not None]),
        _by_part(handed_in),
        tuple(_statistics_of(tests)),
        Summary.of(seconds),
        sum(seconds),
        sum(score.state == "missing" for score in graded),
        len(scores) - len(graded),
        (*scores.problems, *scores.mixtures),
    )


def _records(results: Path, scores: ClassScores) -> Iterator[SubmissionResult]:
    for score in scores:
        record, _ = record_of(results, score)
        if record is not None:
            yield record


def _by_part(scores: Sequence[Score]) -> dict[int, Summary]:
    numbers = sorted({part.part for score in scores for part in score.parts})
    return {
        number: Summary.of(
            [
                part.percent
                for score in scores
                for part in score.parts
                if part.part == number and part.tests_max
            ]
        )
        for number in numbers
    }


def _statistics_of(tests: _Tests) -> Iterator[TestStatistics]:
    for name, test in sorted(tests.first.items(), key=lambda item: _place(item[1])):
        outcomes = tests.passed[name]
        yield TestStatistics(
            name,
            test.part,
            test.section,
            test.title,
            test.variant,
            test.visibility,
            len(outcomes),
            sum(passed for passed, _ in outcomes),
            point_biserial([passed for passed, _ in outcomes], [rest for _, rest in outcomes]),
        )


def point_biserial(passed: Sequence[bool], points: Sequence[float]) -> float | None:
    """Pearson's correlation of yes or no with numbers; None where either is all the same."""
    if len(set(passed)) < 2 or len(set(points)) < 2:
        return None
    return statistics.correlation([float(one) for one in passed], points)


def _place(test: TestResult) -> tuple:
    """4.10 comes after 4.9."""
    section = (int(piece) if piece.isdecimal() else 0 for piece in test.section.split("."))
    return test.part, tuple(section), test.visibility == "hidden", test.id


# --------------------------------------------------------------------------------- long form


def write_long(
    folders: Iterable[Path], policy: Policy, submitted: Path | None, file: TextIO
) -> int:
    """One row a student and test, of all folders, for a notebook or R; returns how many."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(LONG_COLUMNS)
    n = 0
    for folder in folders:
        scores = score_class(folder, policy, submitted)
        students = {score.submission: score.student for score in scores}
        for record in _records(folder, scores):
            for test in record.tests:
                writer.writerow(_long_row(folder, students[record.student], record, test))
                n += 1
    return n


def _long_row(folder: Path, student: str, record: SubmissionResult, test: TestResult) -> list:
    title = f"{test.title} ({test.variant})" if test.variant else test.title
    return [
        *(folder.resolve().name, plain(student), record.student, test.id, test.part, test.section),
        *(title, test.visibility, test.state, int(test.state == "passed")),
        *(f"{test.points:g}", f"{test.max_points:g}", int(test.with_trusted_parts)),
        f"{test.seconds:.3f}",
    ]
