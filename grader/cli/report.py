"""The command `grader report`."""

from pathlib import Path
from typing import Annotated

import typer

from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr, tr_n
from grader.cli.options import LangOption


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
