"""`grader adjust` and `grader mark`: what a person decides, kept beside the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from assignment.harness.parts import PART_BY_NUMBER
from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import language, speak, tr, tr_n
from grader.cli.options import LangOption, PolicyOption, ResultsOption, SubmittedOption

if TYPE_CHECKING:  # see grader.cli.main
    from grader.authoring.in_words import Question
    from grader.intake.submissions import Found
    from grader.results.marks import Mark, Marks

ByOption = Annotated[
    str | None, typer.Option("--by", help="Who decides.", show_default="your user name")
]


def adjust(
    student: Annotated[
        str | None, typer.Argument(help="The student's id; alone it lists what was decided.")
    ] = None,
    points: Annotated[
        float | None, typer.Option("--points", help="Added to the grade; below zero: taken off.")
    ] = None,
    part: Annotated[int | None, typer.Option("--part", help="The part they belong to.")] = None,
    override: Annotated[
        float | None, typer.Option("--override", help="The grade, whatever the tests say.")
    ] = None,
    comment: Annotated[
        str | None, typer.Option("--comment", help="A remark for the student's page.")
    ] = None,
    appeal: Annotated[
        str | None, typer.Option("--appeal", help="Note that the student objects, and why.")
    ] = None,
    settle: Annotated[
        bool, typer.Option("--settle", help="This answers the student's open appeal.")
    ] = False,
    withdraw: Annotated[
        str | None, typer.Option("--withdraw", metavar="MARK", help="Take one back, by its id.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why; the student reads it.")
    ] = None,
    by: ByOption = None,
    out: ResultsOption = Path("results"),
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    lang: LangOption = None,
) -> None:
    """Add points, take some off, set a grade, comment, or keep an appeal; a regrade keeps it."""
    from grader.grades.deciding import decide
    from grader.grades.policy_file import Policy
    from grader.results.marks import read_marks

    speak(lang)
    console = console_for_people()
    asked = {"points": points, "override": override, "comment": comment, "appeal": appeal}
    asked |= {"withdrawn": withdraw}
    kinds = [kind for kind, value in asked.items() if value is not None]
    if settle and not kinds:
        kinds = ["settled"]
    if not kinds:
        _list(read_marks(out), student, console)
        return
    _check(student, kinds, part, reason, settle)
    assert student is not None  # by _check
    kind = kinds[0]
    fields = {
        "points": points if kind == "points" else override,
        "part": part,
        "text": comment or appeal or reason or "",
        "withdraws": withdraw or "",
    }
    rules = Policy.load(policy)
    mark = decide(out, rules, submitted, student, kind, by, settle, **fields)  # type: ignore[arg-type]
    say(console, _line(mark))


def _check(
    student: str | None, kinds: list[str], part: int | None, reason: str | None, settle: bool
) -> None:
    if student is None:
        raise GraderError("Whose grade? Name the student: grader adjust STUDENT --points …")
    if len(kinds) > 1:
        raise GraderError(
            f"{' and '.join(kinds)} are two decisions. Give one at a time, each with its reason."
        )
    kind = kinds[0]
    if kind in ("points", "override", "withdrawn", "settled") and not (reason or "").strip():
        raise GraderError("Say why with --reason: the student reads it, and so do you next year.")
    if part is not None and (kind != "points" or part not in PART_BY_NUMBER):
        known = ", ".join(map(str, PART_BY_NUMBER))
        raise GraderError(f"--part {part}: it goes with --points and is one of {known}.")
    if settle and kind in ("appeal", "comment"):
        raise GraderError(
            "--settle goes with --points, --override or --withdraw, or alone with a --reason where "
            "the grade stays."
        )


def _list(marks: Marks, student: str | None, console: Console) -> None:
    from grader.results.marks import mark_key

    for problem in marks.problems:
        say(console, problem)
    open_ones = {mark.id for mark in marks.open_appeals()}
    counting = {mark.id for mark in marks.counting()}
    shown = [
        mark for mark in marks if student is None or mark_key(mark.student) == mark_key(student)
    ]
    for mark in shown:
        said = _line(mark)
        if mark.id in open_ones:
            said += tr("; open")
        elif mark.id not in counting and not mark.withdraws:
            said += tr("; withdrawn")
        say(console, said)
    if not shown:
        say(console, tr("Nothing was decided by a person."))


def _line(mark: Mark) -> str:
    """`3f2a91bc 2026-11-30 kim: ana, +3 points, part 4: reason (grade 40 → 43)`."""
    what = {
        "points": tr("{n:+g} points", n=mark.points or 0.0),
        "override": tr("grade set to {n:g}", n=mark.points or 0.0),
        "comment": tr("comment"),
        "answer": tr(
            "{n:g} points for the answer {question}", n=mark.points or 0.0, question=mark.question
        ),
        "appeal": tr("appeal"),
        "settled": tr("appeal answered, the grade stays"),
        "withdrawn": tr("{id} withdrawn", id=mark.withdraws),
    }[mark.kind]
    if mark.part is not None:
        what += tr(", part {part}", part=mark.part)
    if mark.settles:
        what += tr(", settles {id}", id=mark.settles)
    line = tr(
        "{id} {day} {by}: {student}, {what}: {text}",
        id=mark.id,
        day=f"{mark.at:%Y-%m-%d}",
        by=mark.by,
        student=mark.student,
        what=what,
        text=mark.text,
    )
    if mark.before is not None or mark.after is not None:
        line += tr(
            " (grade {before} → {after})", before=_grade(mark.before), after=_grade(mark.after)
        )
    return line


def _grade(final: float | None) -> str:
    return "–" if final is None else f"{final:g}"


# ------------------------------------------------------------------------------------- answers


def mark(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="The submissions, as for `grader run`."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Take the points from this file: student,question,points."),
    ] = None,
    sheet: Annotated[
        Path | None,
        typer.Option("--sheet", help="Write the answers as such a file, to fill in elsewhere."),
    ] = None,
    question: Annotated[
        list[str] | None, typer.Option("--question", help="Only this one, as 4; may be repeated.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ID", help="Only this student.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Those that are marked, too.")] = False,
    by: ByOption = None,
    out: ResultsOption = Path("results"),
    lang: LangOption = None,
) -> None:
    """Give points for the written answers: one question after the other, everybody's answers."""
    from grader.cli.marking import mark_from_csv, walk, write_sheet

    speak(lang)
    console = console_for_people()
    if csv is not None:
        if paths or sheet:
            raise GraderError("--csv takes the points from the file and reads no submissions.")
        n = mark_from_csv(csv, out, by)
        say(console, tr_n(n, "1 answer marked.", "{n} answers marked."))
        return
    if not paths:
        raise GraderError(
            "Whose answers? Name the submissions as for `grader run`, or a file with --csv."
        )
    chosen = _questions(question or ())
    answers = _answers(paths, out, only or (), console)
    if sheet is not None:
        n = write_sheet(answers, chosen, sheet, out, again)
        written = tr_n(n, "1 answer: {file}.", "{n} answers: {file}.", file=sheet)
        then = tr("Fill in the points, then: grader mark --csv {file}", file=sheet)
        say(console, f"{written} {then}")
        return
    walk(answers, chosen, out, by, again, console)


def _questions(names: Iterable[str]) -> tuple[Question, ...]:
    from grader.authoring.in_words import question_named, questions

    chosen = []
    for name in names:
        if (found := question_named(name)) is None:
            known = ", ".join(f"{n} {one.id}" for n, one in enumerate(questions(), start=1))
            raise GraderError(f"There is no question {name!r}. There are: {known}.")
        chosen.append(found)
    return tuple(chosen) or questions()


def _answers(
    paths: Sequence[Path], out: Path, only: Sequence[str], console: Console
) -> dict[str, dict[str, str]]:
    """The answers of each student that has a result."""
    from fnmatch import fnmatchcase

    from grader.base.errors import NothingToGrade
    from grader.intake.answers import answers_of
    from grader.intake.course import Course
    from grader.intake.submissions import find_submissions

    found: list[Found] = find_submissions(paths, Course.load(), [out])
    if only:
        found = [one for one in found if any(fnmatchcase(one.student, name) for name in only)]
    answers, without, unknown = {}, [], []
    for submission in found:
        if not (out / f"{submission.student}.json").exists():
            unknown.append(submission.student)
            continue
        try:
            theirs = answers_of(submission)
        except NothingToGrade as problem:
            say(console, tr("{student}: {why}", student=submission.student, why=str(problem)))
            continue
        if theirs:
            answers[submission.student] = theirs
        else:
            without.append(submission.student)
    if without:
        names = tr(", ").join(without)
        say(console, tr("Without written answers ({n}): {names}.", n=len(without), names=names))
    if unknown:
        names, n = tr(", ").join(unknown), len(unknown)
        told = tr(
            "Without a result in {out}/, so left out ({n}): {names}.", out=out, n=n, names=names
        )
        say(console, told)
    if not answers:
        raise GraderError(
            "There are no written answers to mark: neither answers.md nor notebooks with them. "
            "`grader mark --csv FILE` takes points for what was handed in otherwise."
        )
    return answers


def question_in_words(question: Question) -> str:
    """The question in the language spoken."""
    return question.zh if language() == "zh" else question.en
