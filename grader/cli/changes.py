"""`grader changes`: which scores changed in later runs, and why."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr
from grader.cli.options import LangOption, ResultsOption


def changes_command(
    out: ResultsOption = Path("results"),
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Also write the table to FILE.")
    ] = None,
    lang: LangOption = None,
) -> None:
    """Show which scores changed in later runs: old, new, by part, why."""
    from grader.reports.changes import changes_csv, print_changes
    from grader.results.changes import mixtures, read_changes
    from grader.results.record import write_atomically

    speak(lang)
    if not out.is_dir():
        raise GraderError(f"There are no results in {out}/. Run `grader run` first.")
    changes, console = read_changes(out), console_for_people()
    if changes:
        print_changes(changes, console)
    else:
        say(console, tr("No score in {folder}/ has changed.", folder=out))
    for told in mixtures(out):
        say(Console(stderr=True), told, style="bold red")
    if csv_file is not None:
        try:
            write_atomically(csv_file, changes_csv(changes).encode())
        except OSError as problem:
            raise GraderError(f"{csv_file} cannot be written ({problem.strerror}).") from None
        say(console, tr("Written: {file}", file=csv_file))
