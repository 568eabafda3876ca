"""From seconds to ratios, a fit, and points. No absolute time decides anything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import geometric_mean, median

import numpy as np

from assignment.harness.growth import Growth, growth_of
from grader.bench.experiment import Measured
from grader.bench.setting import TINY, Setting
from grader.grades.policy_file import Bench
from reference_model.accounting import analytic_ops, total

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Row:
    """One context. Times are medians over the repetitions in seconds, ratios medians of ratios.

    A ratio compares what was measured right after each other. Each has its smallest and largest
    value behind it.
    """

    context: int
    step: float
    step_spread: tuple[float, float]
    prefill: float
    ours: float
    naive: float
    bound: float
    to_ours: float
    to_ours_spread: tuple[float, float]
    to_naive: float
    to_bound: float
    bytes_read: int


@dataclass(frozen=True)
class Fit:
    """seconds = fixed + per_position * context, and the slope of log seconds over log context."""

    fixed: float
    per_position: float
    slope: float


@dataclass(frozen=True)
class Analysis:
    """What the report shows of a submission whose outputs were right."""

    rows: tuple[Row, ...]
    fit: Fit
    growth: Growth
    generation: float
    generation_ours: float
    generation_to_ours: float
    ratio: float
    points: float | None  # of a model too tiny for times to be worth any: None
    max_points: float


def analyse(measured: Measured, setting: Setting, bench: Bench) -> Analysis:
    """The ratios of an experiment that refused nothing."""
    rows = tuple(_row(measured, setting, context) for context in setting.contexts)
    times, ours = measured.submission, measured.ours
    growth = growth_of(
        setting.contexts,
        {row.context: row.step for row in rows},
        {row.context: row.naive for row in rows},
    )
    to_ours = median(_ratios(times.generation, ours.generation))
    ratio = ratio_that_counts(rows, to_ours, bench)
    points = 0.0 if growth.recomputes else bench.points_for(ratio)
    return Analysis(
        rows,
        fit_growth([row.context for row in rows], [row.step for row in rows]),
        growth,
        median(times.generation),
        median(ours.generation),
        to_ours,
        ratio,
        None if setting.config == TINY else points,
        bench.points,
    )


def ratio_that_counts(rows: tuple[Row, ...], generation_to_ours: float, bench: Bench) -> float:
    """What the bands are applied to.

    Against our loop it is the worse of the two measures, so that nothing is gained by being fast in
    one of them only.
    """
    if bench.against == "solution":
        return max(geometric_mean(row.to_ours for row in rows), generation_to_ours)
    if bench.against == "bound":
        return geometric_mean(row.to_bound for row in rows)
    return rows[-1].to_naive


def fit_growth(contexts: list[int], seconds: list[float]) -> Fit:
    """Least squares, once for the line and once for the logarithms."""
    per_position, fixed = np.polyfit(contexts, seconds, 1)
    slope = np.polyfit([math.log(c) for c in contexts], [math.log(s) for s in seconds], 1)[0]
    return Fit(float(fixed), float(per_position), float(slope))


def bytes_of_step(setting: Setting, context: int) -> int:
    """Weights and cached keys and values, each read once (L2 §5.6)."""
    work = total(
        analytic_ops(setting.config, 1, 1, context, bytes_per_number=BYTES[setting.dtype]).values()
    )
    return work.weight_bytes + work.kv_bytes


def _row(measured: Measured, setting: Setting, context: int) -> Row:
    steps, ours = measured.submission.steps[context], measured.ours.steps[context]
    # A recompute runs the whole context for each token: what our own prefill of it takes.
    naive = measured.ours.prefill[context]
    bound = measured.bound[context]
    to_ours = _ratios(steps, ours)
    return Row(
        context,
        median(steps),
        (min(steps), max(steps)),
        median(measured.submission.prefill[context]),
        median(ours),
        median(naive),
        median(bound),
        median(to_ours),
        (min(to_ours), max(to_ours)),
        median(_ratios(steps, naive)),
        median(_ratios(steps, bound)),
        bytes_of_step(setting, context),
    )


def _ratios(times: list[float], others: list[float]) -> list[float]:
    return [time / other for time, other in zip(times, others, strict=True)]
