"""The command `grader similar`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr
from grader.cli.options import LangOption


def similar(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Submissions (folders, archives, notebooks) or folders of them."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder of the pages.")] = Path("similar"),
    given: Annotated[
        list[Path] | None,
        typer.Option("--given", help="A file that everybody may use, such as lecture code."),
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, max=500, help="How many pairs to show.")] = 50,
    lang: LangOption = None,
) -> None:
    """Rank pairs of submissions by shared code: where to look, not who copied."""
    from rich.progress import track

    from grader.reports.similar.compare import compare_class
    from grader.reports.similar.site import write_pages

    speak(lang)
    console = console_for_people()
    watch = partial(track, description=tr("comparing"), console=console, transient=True)
    comparison = compare_class(paths, given or (), pairs, watch)
    index = write_pages(comparison, out)
    for problem in comparison.problems:
        say(console, problem)
    for pair in comparison.pairs[:5]:
        first, second = (comparison.texts[i].student for i in (pair.first, pair.second))
        both = tr("{first} and {second}", first=first, second=second)
        say(console, f"{100 * pair.score:3.0f} %  {both}")
    n = len(comparison.texts)
    say(console, tr("{n} submissions compared, a place to look: open {page}", n=n, page=index))
