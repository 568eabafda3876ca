"""The command `grader show`."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from grader.base.errors import GraderError
from grader.base.terminal import say
from grader.base.words import speak, tr
from grader.cli.options import LangOption, PolicyOption, ResultsOption, SubmittedOption

if TYPE_CHECKING:  # see grader.cli.main
    from grader.results.record import SubmissionResult

_SHOWN_NAMES = 10


def show(
    student: Annotated[
        str, typer.Argument(help="The student's id, as in the class table, or how it begins.")
    ],
    out: ResultsOption = Path("results"),
    every_test: Annotated[
        bool, typer.Option("--all", help="Tests that pass or were not started, too.")
    ] = False,
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    lang: LangOption = None,
) -> None:
    """Show one student's result: notes, points, failures with their messages."""
    from grader.grades.roster import labels
    from grader.reports.class_table import print_result
    from grader.results.marks import FILE

    speak(lang)
    result, console = _find(student, out), Console()
    label = labels(out, [result.student]).get(result.student, result.student)
    print_result(result.model_copy(update={"student": label}), console, every_test)
    if policy or submitted or (out / FILE).exists():
        say(console, _grade(result.student, out, policy, submitted), style="bold")


def _find(student: str, out: Path) -> SubmissionResult:
    """The one record of this id, or of the only id that begins so."""
    from grader.base.notes import in_words
    from grader.intake.ids import safe_id
    from grader.results.record import read_record

    # The name becomes the id that names a file, so it cannot name one elsewhere.
    name = safe_id(student.removesuffix(".json"))
    there = sorted(path.stem for path in out.glob("*.json")) if out.is_dir() else []
    begin_so = [found for found in there if found.casefold().startswith(student.casefold())]
    if name not in there and len(begin_so) == 1:
        name = begin_so[0]
    result, refusal = read_record(out, name)
    if result is not None:
        return result
    why = f" ({in_words(refusal)})" if refusal else ""
    sentence = f"There is no result of {student!r} in {out}/{why}."
    if not there:
        raise GraderError(f"{sentence} Run `grader run` first.")
    near = begin_so or difflib.get_close_matches(student, there, _SHOWN_NAMES)
    names, words = (near, "Did you mean") if near else (there, "There are")
    more = ", …" if len(names) > _SHOWN_NAMES else ""
    end = "?" if near else "."
    raise GraderError(f"{sentence} {words}: {', '.join(names[:_SHOWN_NAMES])}{more}{end}")


def _grade(student: str, out: Path, policy: Path | None, submitted: Path | None) -> str:
    """What the policy makes of the result, with what it took off and why."""
    from grader.grades.class_scores import score_class
    from grader.grades.judgement import remarks_of
    from grader.grades.policy_file import Policy
    from grader.integrations.export.csv_file import number_cell

    of_class = score_class(out, Policy.load(policy), submitted, of=student)
    score = next((one for one in of_class if student in (one.submission, *one.attempts)), None)
    if score is None or score.final is None:
        why = tr("; ").join(score.notes) if score else ""
        return tr("by the policy: no grade ({why})", why=why)
    taken = score.penalty + score.minimum_loss
    line = tr(
        "by the policy: {grade} of {most}",
        grade=number_cell(score.final),
        most=number_cell(score.max_points),
    )
    if taken:
        line += tr(", {n} taken off", n=number_cell(taken))
    if score.adjusted:
        line += tr(", {n:+g} by people", n=score.adjusted)
    if score.days_late:
        line += tr(", {n:.1f} d late", n=score.days_late)
    if score.submission != student:
        line += tr(", by the attempt {name}", name=score.submission)
    return line + "".join(f"; {spoken_note}" for spoken_note in remarks_of(score))
