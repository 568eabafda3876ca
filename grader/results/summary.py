"""The few facts of a record that a class table shows."""

from dataclasses import dataclass

from grader.base.notes import in_words
from grader.base.words import spoken
from grader.results.record import SubmissionResult


@dataclass(frozen=True)
class Summary:
    """What the class table shows of one submission; small, for a thousand stay in memory."""

    student: str
    state: str
    kept: bool
    parts: tuple[tuple[int, float, float], ...]  # part, points, maximum
    public: float
    hidden: float
    total: float
    max_total: float
    problem: str
    misnamed: bool = False  # a file of it was left out, that may be meant for a module


def summarise(result: SubmissionResult, kept: bool = False) -> Summary:
    """The few numbers and words of a result that the class table needs."""
    return Summary(
        student=result.student,
        state=result.state,
        kept=kept,
        parts=tuple(
            (row.part, row.public + row.hidden, row.public_max + row.hidden_max)
            for row in result.parts
        ),
        public=sum(row.public for row in result.parts),
        hidden=sum(row.hidden for row in result.parts),
        total=result.total,
        max_total=result.max_total,
        problem=_first_problem(result)[:160],
        misnamed=any(one.kind == "near_miss" for one in result.notes),
    )


def _first_problem(result: SubmissionResult) -> str:
    if result.state in ("missing", "error"):
        return result.reason
    for one in result.notes:
        if one.kind == "near_miss":  # which explains all that follows
            return in_words(one)
    failing = [test for test in result.tests if test.state != "passed"]
    named = [found.fact for found in result.diagnoses if found.bugs]
    if named:
        return named[0]
    # What the student did wrong says more than what was never begun.
    failing.sort(key=lambda test: test.state in ("not_started", "waiting"))
    if not failing:
        return ""
    first = failing[0]
    lines = first.message.strip().splitlines()
    if lines and first.state in ("not_started", "waiting"):
        return lines[0]  # the stub that was reached names its own section
    # Where it goes wrong says more than that shape and dtype are right.
    words = first.where or next(iter(lines), spoken(first.state.replace("_", " ")))
    return f"{first.section} {words}"
