"""From records to grades: points by part, lateness, attempts, minimum parts.

A policy is applied to the records that are there, so changing it grades nothing again. Its file is
read in policy_file.py; the default, with every key explained, is policy.toml.

    raw = sum over parts of  tests' points * policy's points / tests' maximum, + written answers
    final = min(raw, minimum rule's cap) - late penalty + what a person adds

What people decided is in judgement.py.
"""

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from pydantic import AwareDatetime

from assignment.harness.parts import PART_BY_NUMBER
from grader.base.words import tr
from grader.grades.class_lists import DAY, student_key
from grader.grades.lateness import Strict
from grader.grades.policy_file import Minimum, Policy
from grader.results.record import SETTLED, State, SubmissionResult, TestResult

# How the tests end that a decode without a cache fails, and that hold what else it gets right.
USES_THE_CACHE = "decode_uses_the_cache"


class PartScore(Strict):
    """One part under the policy; `tests_*` are the tests' own points."""

    part: int
    name: str
    points: float
    max_points: float
    tests_points: float
    tests_max: float

    @property
    def scale(self) -> float:
        """What one point of a test counts in the grade."""
        return self.max_points / self.tests_max if self.tests_max else 0.0

    @property
    def percent(self) -> float:
        """Of the part's tests, 0 to 100."""
        return 100 * self.tests_points / self.tests_max if self.tests_max else 0.0


class Answer(Strict):
    """A written answer; `points` is None while nobody has marked it."""

    question: str
    part: int
    points: float | None
    max_points: float
    comment: str = ""


class Written(Strict):
    """The written answers of one student."""

    points: float
    max_points: float
    answers: tuple[Answer, ...]

    def scaled(self, scale: float) -> "Written":
        """The same where one point counts `scale`."""
        answers = tuple(
            answer.model_copy(
                update={
                    "points": None if answer.points is None else round(answer.points * scale, 6),
                    "max_points": round(answer.max_points * scale, 6),
                }
            )
            for answer in self.answers
        )
        points, most = round(self.points * scale, 6), round(self.max_points * scale, 6)
        return Written(points=points, max_points=most, answers=answers)


class Judged(Strict):
    """What a person decided of one student, as far as the grade shows it (see results.marks)."""

    id: str
    kind: Literal["points", "override", "comment"]
    points: float | None = None
    part: int | None = None
    text: str = ""
    by: str
    at: AwareDatetime


class Score(Strict):
    """A grade and how it came about: final = raw - minimum_loss - penalty + adjusted, rounded.

    Attributes:
        final: None where there is no grade: the grader failed (state `error`), or the record lacks
            tests that the policy gives points for. Never take it for a zero.
        days_late: days of 24 hours since the student's due date; 0 within the grace period.
        penalty: points taken off for lateness.
        minimum_loss: points taken off because a part is below its minimum.
        below_minimum: these parts.
        submission: the id of the record that was scored; it differs from `student` where the
            student made several attempts.
        earlier: the file in the student's history that was scored, where an earlier attempt counts.
        name, email, section: by the roster, where there is one.
        repeated: other results that seem to be of the same student and were joined by nobody.
        written: the written answers, which `raw` and `max_points` contain; None where they do not
            count.
        adjusted: what people added to the grade or took off; it may lift the grade above the
            maximum.
        override: the grade that a person set, whatever the rest says.
        judged: these decisions.
    """

    student: str
    name: str = ""
    email: str = ""
    section: str = ""
    state: State
    parts: tuple[PartScore, ...] = ()
    raw: float = 0.0
    max_points: float = 0.0
    days_late: float = 0.0
    penalty: float = 0.0
    minimum_loss: float = 0.0
    final: float | None = None
    notes: tuple[str, ...] = ()
    below_minimum: tuple[int, ...] = ()
    submission: str = ""
    submitted_at: AwareDatetime | None = None
    attempts: tuple[str, ...] = ()
    earlier: str = ""
    repeated: tuple[str, ...] = ()
    written: Written | None = None
    adjusted: float = 0.0
    override: float | None = None
    judged: tuple[Judged, ...] = ()

    @property
    def label(self) -> str:
        """Who it is, for people: name and id."""
        return f"{self.name} ({self.student})" if self.name else self.student


def score(
    record: SubmissionResult,
    policy: Policy,
    submitted_at: datetime | None = None,
    student: str | None = None,
    written: Written | None = None,
) -> Score:
    """The grade of one submission, as far as rules make it.

    Args:
        written: the points of its written answers, in the questions' own points.
        submitted_at: aware; None where nobody knows, then nothing is taken off for lateness.
        student: whose it is, where that is not the record's id.
    """
    student = student or record.student
    scale = _share_of_total(record, policy, written)
    given_back = _given_back(record, policy)
    parts = _part_scores(record, policy, scale, given_back)
    written = written and written.scaled(scale)
    fields: dict[str, Any] = {
        "student": student,
        "submission": record.student,
        "submitted_at": submitted_at,
        "state": record.state,
        "parts": parts,
        "raw": _sum(part.points for part in parts),
        "max_points": _sum(part.max_points for part in parts),
    }
    # The very sums of the record, not sums of rounded sums.
    if not policy.points and policy.total is None and not given_back:
        fields |= {"raw": min(record.total, record.max_total), "max_points": record.max_total}
    if written:
        fields["written"] = written
        fields["raw"] = _sum((fields["raw"], written.points))
        fields["max_points"] = _sum((fields["max_points"], written.max_points))
    if no_grade := _why_no_grade(record, parts):
        return Score(**fields, notes=(no_grade,))
    notes: list[str] = []
    if given_back:
        n = _sum(given_back.values())
        notes.append(tr("{n:g} points given back for decodes without a cache", n=n))
    raw, most = fields["raw"], fields["max_points"]
    below, minimum_loss = _minimum(parts, raw, most, policy.minimum, notes)
    if record.state == "missing":  # which says all that a list of parts could
        notes = [tr("nothing gradable was handed in")]
    days_late, penalty = 0.0, 0.0
    if record.state != "missing" and policy.late.due:
        left = raw - minimum_loss
        days_late, penalty = _lateness(record, student, submitted_at, left, most, policy, notes)
    final = rounded(min(max(raw - minimum_loss - penalty, 0.0), most), policy.decimals)
    return Score(
        **fields,
        below_minimum=below,
        minimum_loss=minimum_loss,
        days_late=days_late,
        penalty=penalty,
        final=min(final, most),  # rounding up may not give more than everything
        notes=tuple(notes),
    )


def rounded(value: float, decimals: int) -> float:
    """Halves go up, as people expect: round() would make 2.5 a 2 and 2.675 a 2.67."""
    step = Decimal(1).scaleb(-decimals)
    return float(Decimal(repr(value)).quantize(step, ROUND_HALF_UP))


def _given_back(record: SubmissionResult, policy: Policy) -> dict[int, float]:
    """Points by part that right decodes without a cache keep by the policy, in the tests' own."""
    given: dict[int, float] = {}
    for test in record.tests:
        if test.held_by.partition("[")[0].endswith(USES_THE_CACHE):
            share = test.max_points * policy.without_cache_percent / 100
            given[test.part] = given.get(test.part, 0.0) + share
    return {part: round(points, 6) for part, points in given.items() if points}


def _part_scores(
    record: SubmissionResult, policy: Policy, together: float, given_back: dict[int, float]
) -> tuple[PartScore, ...]:
    by_part = {part.part: part for part in record.parts}
    scores = []
    for number in sorted({*by_part, *(n for n, most in policy.points.items() if most)}):
        of_tests = by_part.get(number)
        earned = _sum((of_tests.public, of_tests.hidden)) if of_tests else 0.0
        earned = _sum((earned, given_back.get(number, 0.0)))
        tests_max = _sum((of_tests.public_max, of_tests.hidden_max)) if of_tests else 0.0
        most = policy.points.get(number, tests_max) * together
        share = earned / tests_max if tests_max else 0.0
        title = PART_BY_NUMBER[number].title if number in PART_BY_NUMBER else f"Part {number}"
        points = earned if most == tests_max else round(share * most, 6)
        scores.append(
            PartScore(
                part=number,
                name=title,
                points=min(points, most),  # rounding may go above it
                max_points=most,
                tests_points=earned,
                tests_max=tests_max,
            )
        )
    return tuple(scores)


def _share_of_total(record: SubmissionResult, policy: Policy, written: Written | None) -> float:
    """What one point counts where everything together is to be worth the policy's `total`."""
    if policy.total is None:
        return 1.0
    of_tests = {part.part: part.public_max + part.hidden_max for part in record.parts}
    most = _sum([*(of_tests | policy.points).values(), written.max_points if written else 0.0])
    return policy.total / most if most else 0.0


def _why_no_grade(record: SubmissionResult, parts: Iterable[PartScore]) -> str:
    if record.state not in SETTLED:
        return tr("no grade: the grader failed on this submission; run `grader run` again")
    untested = [str(part.part) for part in parts if part.max_points and not part.tests_max]
    if untested:
        return tr(
            "no grade: the result has no test of part {parts}, for which the policy gives points; "
            "run `grader run --regrade`",
            parts=tr(", ").join(untested),
        )
    return ""


def _minimum(
    parts: Iterable[PartScore], raw: float, most: float, rule: Minimum, notes: list[str]
) -> tuple[tuple[int, ...], float]:
    """The parts below their minimum, and the points lost by that."""
    below = []
    by_number = {part.part: part for part in parts}
    for number, percent in sorted(rule.parts.items()):
        part = by_number.get(number)
        reached = part.percent if part else 0.0
        if reached < percent - 1e-9:
            below.append(number)
            notes.append(
                tr(
                    "part {part} reached {reached:.0f} % of its points, {percent:g} % needed",
                    part=number,
                    reached=reached,
                    percent=percent,
                )
            )
    if not below or rule.otherwise == "note":
        return tuple(below), 0.0
    loss = round(max(raw - most * rule.cap_percent / 100, 0.0), 6)
    notes.append(
        tr("so the total counts at most {percent:g} % of the maximum", percent=rule.cap_percent)
    )
    return tuple(below), loss


def _lateness(
    record: SubmissionResult,
    student: str,
    submitted_at: datetime | None,
    left: float,
    most: float,
    policy: Policy,
    notes: list[str],
) -> tuple[float, float]:
    """(days late, points taken off)."""
    if submitted_at is None:
        if policy.has_late_rule:
            marked = tr("; its name says LATE") if "_LATE_" in record.source else ""
            notes.append(tr("no submission time known: no late penalty applied") + marked)
        return 0.0, 0.0
    rule, due = policy.late, policy.due_date(student)
    if due is None:
        return 0.0, 0.0
    if student_key(student) in policy.due_of:
        notes.append(tr("extension until {moment}", moment=rule.shown(due)))
    late_by = submitted_at - due
    if late_by <= timedelta(minutes=rule.grace_minutes):
        return 0.0, 0.0
    days = late_by / DAY
    last = policy.drop_dead_date(student)
    if last is not None and submitted_at > last:
        notes.append(
            tr(
                "{time} late, after the last date {moment}: 0 points",
                time=days_text(days),
                moment=rule.shown(last),
            )
        )
        return days, left
    started = -(-late_by // DAY)  # timedelta's floor division is exact
    percent = min(started * rule.percent_per_day, rule.cap_percent)
    penalty = round((left if rule.percent_of == "score" else most) * percent / 100, 6)
    penalty = min(penalty, left)
    notes.append(
        tr(
            "{time} late: {percent:g} % of {of} taken off",
            time=days_text(days),
            percent=percent,
            of=tr("the score") if rule.percent_of == "score" else tr("the maximum"),
        )
    )
    return days, penalty


def days_text(days: float) -> str:
    """`40 minutes`, `5.2 hours`, `1.3 days`."""
    if days < 1 / 24:
        return tr("{n} minutes", n=math.ceil(days * 24 * 60))
    return tr("{n:.1f} hours", n=days * 24) if days < 1 else tr("{n:.1f} days", n=days)


def _sum(values: Iterable[float]) -> float:
    return round(math.fsum(values), 6)


def student_view(test: TestResult, policy: Policy) -> TestResult | None:
    """What the student may see of one test, points in the tests' own; None: not even its title.

    Of a hidden test only title, points and state are taken over, so that a field which is added to
    the record stays hidden until someone decides otherwise.
    """
    if test.visibility == "public":
        return test
    if policy.visibility.hidden == "nothing":
        return None
    return TestResult(
        id=f"hidden {test.section} {test.title} {test.variant}".rstrip(),
        part=test.part,
        section=test.section,
        title=test.title,
        variant=test.variant,
        visibility="hidden",
        points=test.points,
        max_points=test.max_points,
        state=test.state,
        with_trusted_parts=test.with_trusted_parts,
        charge=test.charge,
    )
