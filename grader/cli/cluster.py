"""`grader merge` and `grader secret`: what a class graded in shards needs besides `grader run`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from grader.base.terminal import console_for_people, say


def merge_command(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER", help="Folders of results: all shards, or of two people."),
    ],
    into: Annotated[Path, typer.Option("--into", help="Folder of the merged results.")] = Path(
        "results"
    ),
    quiet: Annotated[bool, typer.Option("--quiet", help="No table.")] = False,
) -> None:
    """Put the results of several folders into one; conflicts are told and left to you."""
    from grader.cluster.merge import merge
    from grader.reports.class_table import counts_sentence, print_class, with_names

    merged = merge(folders, into)
    console = console_for_people()
    if not quiet:
        print_class(with_names(merged.summaries, into), console)
        say(console, counts_sentence(merged.summaries))
        say(
            console,
            f"Results: {into}/ ({merged.new} new, {merged.replaced} replaced, {merged.same} there "
            "already)",
        )
    for sentence in merged.told:
        say(Console(stderr=True), sentence)
    if merged.told:
        raise typer.Exit(1)
    if any(summary.state == "error" for summary in merged.summaries):
        say(
            Console(stderr=True),
            "Some submissions have the state 'error': the grader failed, not the student. Run "
            "their shards again, then merge again.",
        )
        raise typer.Exit(1)


def secret_command(
    secret_file: Annotated[
        Path | None, typer.Option("--secret-file", help="Where; default: the user's own.")
    ] = None,
) -> None:
    """Make the secret behind the hidden cases, if it is not there yet, and say where it is."""
    from grader.base.seeds import load_secret

    secret = load_secret(secret_file)
    for warning in secret.warnings:
        say(Console(stderr=True), f"Warning: {warning}")
    made = "made" if secret.created else "there already"
    say(console_for_people(), f"The secret is {made}: {secret.path}")
