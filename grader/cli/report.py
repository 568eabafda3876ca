"""`grader report` and `grader feedback`: pages to look at, and to give back."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr, tr_n
from grader.cli.options import LangOption, PolicyOption, SubmittedOption


def report(
    results: Annotated[Path, typer.Option("--results", help="Folder of the results.")] = Path(
        "results"
    ),
    out: Annotated[Path, typer.Option("--out", help="Folder of the pages.")] = Path("report"),
    policy: Annotated[
        Path | None, typer.Option("--policy", help="Points, lateness, visibility (TOML).")
    ] = None,
    submitted: Annotated[
        Path | None,
        typer.Option("--submitted", help="CSV of who submitted what, and when."),
    ] = None,
    lang: LangOption = None,
) -> None:
    """Write the class page and one page a student, to open in a browser or to mail."""
    from grader.grades.policy_file import Policy
    from grader.reports.pages.site import build_report

    speak(lang)
    site = build_report(results, out, Policy.load(policy), submitted)
    console = console_for_people()
    for problem in site.problems:
        say(console, problem)
    if n := site.n_errors:
        failed = tr_n(
            n,
            "1 submission has the state 'error'; run `grader run` again.",
            "{n} submissions have the state 'error'; run `grader run` again.",
        )
        say(console, failed)
    students = tr_n(site.n_students, "1 student", "{n} students")
    say(console, tr("{students}: open {page}", students=students, page=site.index))


def feedback(
    to: Annotated[
        Literal["canvas", "moodle", "gradescope", "mail"],
        typer.Option("--to", help="Where students read it."),
    ],
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder of the results.")
    ] = Path("results"),
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")] = Path("feedback"),
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="moodle: the grading worksheet, as exported.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="moodle: its column of grades, if not Grade.")
    ] = None,
    sender: Annotated[
        str | None, typer.Option("--from", help="mail: the address that it comes from.")
    ] = None,
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    lang: LangOption = None,
) -> None:
    """Write every student's page as a course platform or a mail program takes it back."""
    from grader.grades.policy_file import Policy
    from grader.integrations.feedback import Options, write_feedback

    speak(lang)
    useless = {"moodle": (sender,), "mail": (sheet, column)}.get(to, (sheet, column, sender))
    if any(value is not None for value in useless):
        raise GraderError(
            f"--to {to} makes no use of one of these: --sheet and --column are Moodle's, --from is "
            "for mail."
        )
    options = Options(sheet, column, sender)
    for sentence in write_feedback(to, results, out, Policy.load(policy), submitted, options):
        say(console_for_people(), sentence)
