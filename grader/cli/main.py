"""The `grader` command.

What a command needs is imported when it is called, so `grader --help` answers at once.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from grader.base.errors import GraderError, Interrupted
from grader.base.terminal import say
from grader.base.words import speak
from grader.cli.bench import bench_command
from grader.cli.changes import changes_command
from grader.cli.cluster import merge_command, secret_command
from grader.cli.grades import export, scores, statistics
from grader.cli.marks import adjust, mark
from grader.cli.nbgrader import nbgrader_group
from grader.cli.options import LangOption, OutOption
from grader.cli.release import release_command
from grader.cli.report import feedback, report
from grader.cli.roster import roster_group
from grader.cli.serve import serve_command
from grader.cli.show import show
from grader.cli.similar import similar

ENV_DEBUG = "GRADER_DEBUG"
RESULTS, RESULTS_OF_PART12 = Path("results"), Path("results-part12")
EXIT_ERRORS, EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 130

app = typer.Typer(
    name="grader",
    help="Grade homework on attention and KV-cache decode, each submission in a sandbox.",
    epilog="What students read is in English or Chinese, see --lang. In English only are the "
    "grader's own errors and warnings, `secret` and the words of `merge`, and names in files that "
    "programs read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SecretOption = Annotated[
    Path | None,
    typer.Option("--secret-file", help="Secret behind the hidden cases; made on first use."),
]
SandboxName = Literal["auto", "bubblewrap", "podman", "docker", "portable", "none"]


def main() -> None:
    """Run the command line: every failure ends in a sentence, never in a traceback of ours."""
    try:
        app()
    except Exception as problem:
        if os.environ.get(ENV_DEBUG):
            raise
        _complain(
            f"The grader itself failed: {type(problem).__name__}: {problem}. Results written so "
            f"far are kept. Set {ENV_DEBUG}=1 to see where, and please report it."
        )
        sys.exit(EXIT_BUG)


def _sentences(command: Callable) -> Callable:
    """Turn a GraderError of a command into its sentence and exit code 2."""

    @functools.wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except GraderError as problem:
            _complain(str(problem))
            raise typer.Exit(EXIT_USAGE) from None
        except Interrupted as problem:
            _complain(str(problem))
            raise typer.Exit(EXIT_INTERRUPTED) from None

    return guarded


@app.command()
@_sentences
def run(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Submissions (folders, archives, notebooks) or folders of them.",
            show_default="those of the last run",
        ),
    ] = None,
    out: OutOption = RESULTS,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Submissions graded at once.", show_default="as cores and memory allow"
        ),
    ] = None,
    sandbox: Annotated[
        SandboxName, typer.Option(help="'none' runs submissions with your own rights.")
    ] = "auto",
    regrade: Annotated[bool, typer.Option("--regrade", help="Grade again what is graded.")] = False,
    rehash: Annotated[
        bool, typer.Option("--rehash", help="Read also files that look unchanged.")
    ] = False,
    secret_file: SecretOption = None,
    limits: Annotated[
        Path | None,
        typer.Option(help="TOML file with other limits on time and memory, see docs/security.md."),
    ] = None,
    real_model: Annotated[
        bool | None,
        typer.Option(help="Also test on SmolLM2-135M.", show_default="if it is installed"),
    ] = None,
    part12: Annotated[
        bool,
        typer.Option(
            "--part12",
            help="Grade the extra part on serving and nothing else, into a folder of its own.",
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Grade on the workers of this dask scheduler: tls://HOST:8786."),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="N/COUNT", help="Only this part of the class; see `grader merge`."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Grade this one only, or 'B_*'; may be given again."),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATE",
            help="Grade again those whose result is graded, partial, error, missing.",
        ),
    ] = None,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Grade again those whose grading failed or ended early."),
    ] = False,
    accept_names: Annotated[
        bool,
        typer.Option("--accept-names", help="Take 'rope (1).py' for a missing rope.py."),
    ] = False,
    check_fast: Annotated[
        bool,
        typer.Option("--check-fast", help="Grade each the fast way and the slow way; compare."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    lang: LangOption = None,
) -> None:
    """Grade every submission below each PATH; run it again to resume."""
    from grader.cluster.shards import Shard
    from grader.grade_class import grade_class

    speak(lang)
    states = {*(state or ()), *(("error", "partial") if failed else ())}
    summaries = grade_class(
        paths or (),
        out if out != RESULTS or not part12 else RESULTS_OF_PART12,
        jobs=jobs,
        sandbox=sandbox,
        regrade=regrade or bool(states),
        secret_file=secret_file,
        limits=limits,
        real_model=real_model,
        part12=part12,
        scheduler=scheduler,
        shard=Shard.parse(shard) if shard is not None else None,
        accept_names=accept_names,
        check_fast=check_fast,
        rehash=rehash,
        only=only or (),
        states=states,
        quiet=quiet,
    )
    if any(summary.state == "error" for summary in summaries):
        _complain(
            "Some submissions have the state 'error': the grader failed, not the student. Run the "
            "same command again to retry only those; `grader show STUDENT` tells what happened."
        )
        raise typer.Exit(EXIT_ERRORS)


@app.command()
@_sentences
def doctor(
    out: OutOption = Path("results"), secret_file: SecretOption = None, lang: LangOption = None
) -> None:
    """Say what grading needs, what is missing and how to get it."""
    from grader.cli.doctor import all_checks, print_checks

    speak(lang)
    if not print_checks(all_checks(out, secret_file), Console()):
        raise typer.Exit(1)


app.command()(_sentences(adjust))
app.command()(_sentences(mark))
app.command("bench")(_sentences(bench_command))
app.command("changes")(_sentences(changes_command))
app.add_typer(nbgrader_group(_sentences))
app.add_typer(roster_group(_sentences))
app.command("merge")(_sentences(merge_command))
app.command("secret")(_sentences(secret_command))
app.command("serve")(_sentences(serve_command))
app.command()(_sentences(show))
app.command()(_sentences(scores))
app.command()(_sentences(similar))
app.command()(_sentences(statistics))
app.command()(_sentences(export))
app.command("release")(_sentences(release_command))


app.command()(_sentences(report))
app.command()(_sentences(feedback))


def _complain(sentence: str) -> None:
    say(Console(stderr=True), sentence)
