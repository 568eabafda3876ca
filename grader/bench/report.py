"""What an experiment says: a table and sentences, a JSON file."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from grader.base.errors import GraderError
from grader.base.terminal import say
from grader.base.words import spoken, tr, tr_n
from grader.bench.analysis import Analysis
from grader.bench.experiment import Measured, Times
from grader.bench.setting import TINY, Setting
from grader.grades.policy_file import Bench
from grader.results.record import write_atomically

FORMAT = 1


def as_json(
    setting: Setting, measured: Measured, analysis: Analysis | None, bench: Bench, about: dict
) -> dict[str, Any]:
    """Everything measured (seconds, one entry a repetition) and everything concluded from it."""
    return {
        "format": FORMAT,
        **about,
        "when": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(setting),
        "setting": asdict(setting),
        "verified": not measured.refused,
        "refused": measured.refused,
        "seconds": {
            "submission": _times(measured.submission),
            "solution": _times(measured.ours),
            "bound": {str(context): times for context, times in measured.bound.items()},
        },
        "policy": bench.model_dump(),
        "analysis": None if analysis is None else _analysis(analysis),
    }


def machine(setting: Setting) -> dict[str, Any]:
    """Where it was measured: ratios travel, times do not."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    known: dict[str, Any] = {"system": platform.platform(), "cores": cores, "cpu": _cpu()}
    if hasattr(os, "getloadavg"):
        known["load_average"] = [round(load, 2) for load in os.getloadavg()]
    if setting.impl == "torch":
        import torch

        known["torch"] = torch.__version__
        if setting.device == "cuda":
            known["gpu"] = torch.cuda.get_device_name()
    return known


def write_json(path: Path, content: dict[str, Any]) -> None:
    """The whole file or none."""
    try:
        write_atomically(path, json.dumps(content, indent=1).encode() + b"\n")
    except OSError as problem:
        raise GraderError(f"{path} cannot be written: {problem.strerror}.") from None


def print_refusal(
    console: Console, measured: Measured, setting: Setting, max_points: float
) -> None:
    """Why there are no times."""
    say(console, tr("Not timed: {why}", why=measured.refused))
    if setting.config == TINY:
        return
    say(console, tr("Points: 0 of {most:g}.", most=max_points))


def print_analysis(console: Console, analysis: Analysis, setting: Setting, bench: Bench) -> None:
    """Table, growth, points."""
    # Too narrow a table would be cut off, and its figures belong together.
    console.width = max(console.width, 100)
    console.print(_table(analysis))
    fit, growth = analysis.fit, analysis.growth
    first, last = analysis.rows[0], analysis.rows[-1]
    say(
        console,
        tr(
            "Bound: plain matrix-vector products over the bytes a step must read, {low:.3g} to "
            "{high:.3g} MB at {speed:.3g} GB/s. Naive: the whole context again for each token.",
            low=first.bytes_read / 1e6,
            high=last.bytes_read / 1e6,
            speed=first.bytes_read / first.bound / 1e9,
        ),
    )
    say(
        console,
        tr(
            "Growth: {growth}. Fit of a step: {fixed:.3g} ms {each:+.3g} us per position; slope of "
            "the logarithms {slope:.2f}.",
            growth=growth.described(),
            fixed=fit.fixed * 1e3,
            each=fit.per_position * 1e6,
            slope=fit.slope,
        ),
    )
    if not growth.tells:
        words = tr("The recompute hardly grew: whether the cache is used cannot be told here.")
        say(console, words)
    if growth.recomputes:
        say(console, tr("A step's time grows like a recompute's: the cache is not used."))
    say(
        console,
        tr(
            "Generation of {n} tokens behind {prompt}: {each:.3g} ms per token, {ratio:.2f} times "
            "the solution's.",
            n=setting.new_tokens,
            prompt=setting.prompt,
            each=analysis.generation * 1e3 / setting.new_tokens,
            ratio=analysis.generation_to_ours,
        ),
    )
    if analysis.points is None:
        words = tr(
            "No points: with a model this tiny, that says that all works, not how fast it is, and "
            "hardly whether the cache is used."
        )
        say(console, words)
        return
    say(
        console,
        tr(
            "Points: {points:g} of {most:g} (ratio to {against} {ratio:.2f}).",
            points=analysis.points,
            most=analysis.max_points,
            against=spoken(bench.against),
            ratio=analysis.ratio,
        ),
    )


def _table(analysis: Analysis) -> Table:
    title = tr("ms per token, medians; ratios of what was measured side by side")
    table = Table(title=title)
    others = [tr("solution"), tr("naive"), tr("bound")]
    own = [tr("context"), tr("step"), tr("min .. max")]
    columns = [*own, *others, *(f"/ {other}" for other in others)]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for row in analysis.rows:
        low, high = row.step_spread
        table.add_row(
            str(row.context),
            _ms(row.step),
            f"{_ms(low)} .. {_ms(high)}",
            _ms(row.ours),
            _ms(row.naive),
            _ms(row.bound),
            f"{row.to_ours:.2f}",
            f"{row.to_naive:.3f}",
            f"{row.to_bound:.2f}",
        )
    return table


def _times(times: Times) -> dict[str, Any]:
    return {
        "step": {str(c): t for c, t in times.steps.items()},
        "first_step": {str(c): t for c, t in times.first.items()},
        "prefill": {str(c): t for c, t in times.prefill.items()},
        "generation": times.generation,
        "largest_rms_error": max(times.errors, default=None),
    }


def _analysis(analysis: Analysis) -> dict[str, Any]:
    growth = analysis.growth
    ratios = {
        "step_ratio": growth.step_ratio,
        "recompute_ratio": growth.recompute_ratio,
        "share": growth.share,
        "recomputes": growth.recomputes,
    }
    return asdict(analysis) | {"growth": asdict(growth) | ratios}


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def title(student: str, setting: Setting, tier: str) -> str:
    """The line above everything."""
    s = setting
    threads = tr_n(s.threads, "1 thread", "{n} threads")
    return tr(
        "{student}: {impl} on {device}, {dtype}, model {model}, {threads}, {n} repetitions; "
        "sandbox: {tier}",
        student=student,
        impl=s.impl,
        device=s.device,
        dtype=s.dtype,
        model=s.config.name,
        threads=threads,
        n=s.repetitions,
        tier=tier,
    )
