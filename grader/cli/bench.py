"""`grader bench`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from grader.base.terminal import say
from grader.base.words import speak, tr
from grader.cli.options import LangOption


def bench_command(
    submission: Annotated[
        Path, typer.Argument(help="One submission: a folder, an archive or a notebook.")
    ],
    impl: Annotated[
        Literal["numpy", "torch"], typer.Option(help="The part to time: kv_cache or decode_torch.")
    ] = "numpy",
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Where torch computes.")] = "cpu",
    quick: Annotated[
        bool, typer.Option("--quick", help="A tiny model: whether it works, not how fast.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write all figures to this JSON file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw time against context (.png, .svg, .pdf).")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="TOML file whose [bench] says what ratios are worth.")
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Models and inputs.", show_default="3 to 5"),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=256, help="Of each loop.", show_default="all cores")
    ] = None,
    sandbox: Annotated[
        Literal["auto", "bubblewrap", "portable", "none"],
        typer.Option(help="'none' runs the submission with your own rights."),
    ] = "auto",
    lang: LangOption = None,
) -> None:
    """Time a submission's decode loop against ours, in the sandbox, on verified outputs."""
    from grader.bench import picture, report
    from grader.bench.analysis import analyse
    from grader.bench.run import bench_submission
    from grader.bench.setting import setting_for
    from grader.grades.policy_file import Policy
    from grader.running.pool import usable_cores

    speak(lang)
    bands = Policy.load(policy).bench
    setting = setting_for(impl, device, quick, threads or usable_cores())
    if repetitions is not None:
        setting = replace(setting, repetitions=repetitions)
    console, err = Console(), Console(stderr=True)
    with err.status(tr("starting")) as status:
        done = bench_submission(
            submission, setting, sandbox, progress=lambda text: status.update(text)
        )
    setting, measured = done.setting, done.measured
    say(console, report.title(done.student, setting, done.tier))
    analysis = None if measured.refused else analyse(measured, setting, bands)
    if analysis is None:
        report.print_refusal(console, measured, setting, bands.points)
    else:
        report.print_analysis(console, analysis, setting, bands)
    if out is not None:
        about = {"student": done.student, "source": done.source, "sandbox": done.tier}
        report.write_json(out, report.as_json(setting, measured, analysis, bands, about))
    if plot is not None:
        if analysis is None:
            say(console, tr("{file} is not drawn: there are no times.", file=plot))
        else:
            picture.plot(plot, analysis, setting, done.student)
