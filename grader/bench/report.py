"""What an experiment says: a table and sentences, a JSON file, a plot."""

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

from grader.bench.analysis import Analysis
from grader.bench.experiment import Measured, Times
from grader.bench.setting import TINY, Setting
from grader.errors import GraderError
from grader.policy_file import Bench
from grader.record import write_atomically
from grader.table import say

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


def print_refusal(console: Console, measured: Measured, max_points: float) -> None:
    """Why there are no times."""
    say(console, f"Not timed: {measured.refused}")
    say(console, f"Points: 0 of {max_points:g}.")


def print_analysis(console: Console, analysis: Analysis, setting: Setting, bench: Bench) -> None:
    """Table, growth, points."""
    # Too narrow a table would be cut off, and its figures belong together.
    console.width = max(console.width, 100)
    console.print(_table(analysis))
    fit, growth = analysis.fit, analysis.growth
    first, last = analysis.rows[0], analysis.rows[-1]
    say(
        console,
        f"Bound: plain matrix-vector products over the bytes a step must read, "
        f"{first.bytes_read / 1e6:.3g} to {last.bytes_read / 1e6:.3g} MB at "
        f"{first.bytes_read / first.bound / 1e9:.3g} GB/s. Naive: the whole context again for each "
        "token.",
    )
    say(
        console,
        f"Growth: {growth.described()}. Fit of a step: {fit.fixed * 1e3:.3g} ms "
        f"{fit.per_position * 1e6:+.3g} us per position; slope of the logarithms {fit.slope:.2f}.",
    )
    if not growth.tells:
        say(console, "The recompute hardly grew: whether the cache is used cannot be told here.")
    if growth.recomputes:
        say(console, "A step's time grows like a recompute's: the cache is not used. No points.")
    say(
        console,
        f"Generation of {setting.new_tokens} tokens behind {setting.prompt}: "
        f"{analysis.generation * 1e3 / setting.new_tokens:.3g} ms per token, "
        f"{analysis.generation_to_ours:.2f} times the solution's.",
    )
    say(
        console,
        f"Points: {analysis.points:g} of {analysis.max_points:g} (ratio to {bench.against} "
        f"{analysis.ratio:.2f}).",
    )
    if setting.config == TINY:
        say(console, "With a model this tiny, that says that all works, and not how fast it is.")


def _table(analysis: Analysis) -> Table:
    table = Table(title="ms per token, medians; ratios of what was measured side by side")
    columns = (
        "context",
        "step",
        "min .. max",
        "solution",
        "naive",
        "bound",
        "/ solution",
        "/ naive",
        "/ bound",
    )
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


def plot(path: Path, analysis: Analysis, setting: Setting, student: str) -> None:
    """Time per token against context, on logarithmic axes."""
    try:
        import matplotlib
    except ImportError:
        raise GraderError(
            "The plot needs matplotlib, which is not installed: pip install matplotlib. Everything "
            "else works without --plot."
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    contexts = [row.context for row in analysis.rows]
    figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
    for label, name, style in (
        ("naive recompute", "naive", "s--"),
        (student, "step", "o-"),
        ("solution", "ours", "^-"),
        ("bound: plain matrix-vector products", "bound", "k:"),
    ):
        # No mathematics in what a student may have named.
        times = [getattr(row, name) * 1e3 for row in analysis.rows]
        axes.plot(contexts, times, style, label=label.replace("$", r"\$"))
    low, high = zip(*(row.step_spread for row in analysis.rows), strict=True)
    axes.fill_between(contexts, [t * 1e3 for t in low], [t * 1e3 for t in high], alpha=0.2)
    axes.set(xscale="log", yscale="log", xlabel="context (tokens)", ylabel="ms per token")
    axes.set_xticks(contexts, [str(context) for context in contexts])
    axes.set_title(f"{setting.impl}, {setting.device}, {setting.dtype}, {setting.config.name}")
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, format=path.suffix.lstrip(".") or "png")
    except (OSError, ValueError) as problem:
        raise GraderError(f"The plot {path} cannot be written: {problem}.") from None
    finally:
        pyplot.close(figure)


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
    return (
        f"{student}: {s.impl} on {s.device}, {s.dtype}, model {s.config.name}, {s.threads} "
        f"thread{'s' * (s.threads > 1)}, {s.repetitions} repetitions; sandbox: {tier}"
    )
