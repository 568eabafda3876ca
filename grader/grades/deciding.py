"""One decision of a person: found whose it is, kept with the grade before and after it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from grader.base.errors import GraderError
from grader.grades.class_scores import score_class
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.results.marks import Kind, Mark, Marks, add_marks, mark_key, new_mark


def decide(
    results: Path,
    policy: Policy,
    submitted: Path | None,
    student: str,
    kind: Kind,
    by: str | None = None,
    settle: bool = False,
    **fields: Any,
) -> Mark:
    """Keep a decision beside the results, and return it.

    Args:
        settle: it answers the student's open appeal.
        fields: of the mark (see grader.results.marks.Mark).

    Raises:
        GraderError: nobody has this id, there is no such appeal or mark, it cannot be written.
    """

    def decided(there: Marks) -> list[Mark]:
        score = find_score(student, results, policy, submitted)
        settles = _open_appeal(there, student, score) if settle else ""
        mark = new_mark(score.student, kind, by, settles=settles, **fields)
        if mark.withdraws:
            _require_theirs(there, mark.withdraws, score)
        scores = score_class(results, policy, submitted, Marks((*there, mark)), score.student)
        after = next(other.final for other in scores if other.student == score.student)
        return [mark.model_copy(update={"before": score.final, "after": after})]

    (mark,) = add_marks(results, decided)
    return mark


def find_score(student: str, results: Path, policy: Policy, submitted: Path | None) -> Score:
    """The student's score; an id that nobody has is refused, with those that are near."""
    key = mark_key(student)
    for score in score_class(results, policy, submitted, of=student):
        if key in map(mark_key, (score.student, score.submission, *score.attempts)):
            return score
    names = [score.student for score in score_class(results, policy, submitted)]
    near = difflib.get_close_matches(student, names, 5)
    begins = [name for name in names if name.casefold().startswith(student.casefold())]
    shown = ", ".join((begins or near or names)[:5])
    raise GraderError(
        f"There is no result of {student!r} in {results}/, so nothing was changed. There are: "
        f"{shown}."
    )


def _open_appeal(there: Marks, student: str, score: Score) -> str:
    names = {mark_key(name) for name in (student, score.student, *score.attempts)}
    for appeal in reversed(there.open_appeals()):
        if mark_key(appeal.student) in names:
            return appeal.id
    raise GraderError(
        f"{score.student} has no open appeal to settle; `grader adjust {score.student}` lists all."
    )


def _require_theirs(there: Marks, withdraw: str, score: Score) -> None:
    names = {mark_key(name) for name in (score.student, *score.attempts)}
    theirs = [mark.id for mark in there.counting() if mark_key(mark.student) in names]
    if withdraw not in theirs:
        counting = ", ".join(theirs) or "none"
        raise GraderError(
            f"{withdraw!r} is no mark of {score.student} that counts. Those that do: {counting}."
        )
