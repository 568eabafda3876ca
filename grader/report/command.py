"""The command `grader report`."""

from pathlib import Path
from typing import Annotated

import typer

from grader.policy_file import Policy
from grader.table import console_for_people, say


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
) -> None:
    """Write the class page and one page a student, to open in a browser or to mail."""
    from grader.report.site import build_report

    site = build_report(results, out, Policy.load(policy), submitted)
    console = console_for_people()
    for problem in site.problems:
        say(console, problem)
    if site.n_errors:
        noun = "submission has" if site.n_errors == 1 else "submissions have"
        say(console, f"{site.n_errors} {noun} the state 'error'; run `grader run` again.")
    noun = "student" if site.n_students == 1 else "students"
    say(console, f"{site.n_students} {noun}: open {site.index}")
