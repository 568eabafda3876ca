"""What people decided, in the grade: written answers, points added or taken off, grades set.

A person's word is the last: it counts after lateness and minimum parts, so `-3` is three points of
the grade. Which record counts and whether it was graded again does not matter.
"""

import math
from datetime import datetime

from grader.authoring.in_words import questions
from grader.base.words import tr
from grader.grades.policy import Answer, Judged, Score, Written, rounded
from grader.grades.policy_file import Policy
from grader.results.marks import Mark, Marks


def counts_written(marks: Marks, policy: Policy) -> bool:
    """Whether written answers are part of the grade: once one of the class is marked."""
    return policy.written and any(mark.kind == "answer" for mark in marks.counting())


def written_answers(marks: Marks) -> Written:
    """A student's answers to all questions, by the student's marks."""
    given = marks.answers()
    answers = tuple(
        Answer(
            question=question.id,
            part=question.part,
            points=given[question.id].points if question.id in given else None,
            max_points=question.points,
            comment=given[question.id].text if question.id in given else "",
        )
        for question in questions()
    )
    return Written(
        points=round(math.fsum(answer.points or 0.0 for answer in answers), 6),
        max_points=math.fsum(answer.max_points for answer in answers),
        answers=answers,
    )


def judged(score: Score, marks: Marks, policy: Policy, problems: list[str]) -> Score:
    """`score` with what the student's marks change in it; open appeals are told in `problems`."""
    for appeal in marks.open_appeals():
        problems.append(
            tr(
                "{student}: the appeal {id} of {day} is open.",
                student=score.student,
                id=appeal.id,
                day=day_of(appeal.at),
            )
        )
    told = [mark for mark in marks.counting() if mark.kind in ("points", "override", "comment")]
    notes = list(score.notes)
    if score.written:
        left = sum(answer.points is None for answer in score.written.answers)
        if 0 < left < len(score.written.answers):
            notes.append(tr("written answers not marked: {n}", n=left))
    added = round(math.fsum(mark.points or 0.0 for mark in told if mark.kind == "points"), 6)
    override = next((mark.points for mark in reversed(told) if mark.kind == "override"), None)
    final = score.final
    if override is not None:
        final = override
    elif final is not None and added:
        final = rounded(max(final + added, 0.0), policy.decimals)
    return score.model_copy(
        update={
            "final": final,
            "adjusted": added,
            "override": override,
            "judged": tuple(_shown(mark) for mark in told),
            "notes": tuple(notes),
        }
    )


def day_of(moment: datetime) -> str:
    """The day of a decision, as 2026-11-30, in UTC."""
    return f"{moment:%Y-%m-%d}"


def decision_in_words(decided: Judged, with_name: bool = True) -> str:
    """`part 4: +3 points (kim, 2026-11-30): the mask is right`; students are told no names."""
    day = day_of(decided.at)
    who = tr("{name}, {day}", name=decided.by, day=day) if with_name else day
    points = decided.points or 0.0
    if decided.kind == "comment":
        what = tr("comment")
    elif decided.kind == "override":
        what = tr("grade set to {n:g}", n=points)
    elif decided.part is None:
        what = tr("{n:+g} points", n=points)
    else:
        what = tr("part {part}: {n:+g} points", part=decided.part, n=points)
    return tr("{what} ({who}): {text}", what=what, who=who, text=decided.text)


def remarks_of(score: Score) -> tuple[str, ...]:
    """What an instructor is told of a grade: the rules' notes, then people's decisions."""
    return (*score.notes, *map(decision_in_words, score.judged))


def _shown(mark: Mark) -> Judged:
    return Judged.model_validate(mark.model_dump(include=set(Judged.model_fields)))
