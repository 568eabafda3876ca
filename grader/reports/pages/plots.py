"""Numbers for the drawings; the templates turn them into SVG and the stylesheet colours them.

Coordinates are those of the drawing's viewBox, y downwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from grader.base.words import tr

# Where an error of exactly 0 is drawn, and all that is smaller: below what float64 resolves.
SMALLEST, LARGEST = -17, 6


@dataclass(frozen=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    label: str


@dataclass(frozen=True)
class Dot:
    """The error of one step."""

    x: float
    y: float
    is_wrong: bool
    label: str


@dataclass(frozen=True)
class ErrorPlot:
    """Error against decode step, logarithmic, with the tolerance."""

    width: int
    height: int
    left: int
    right: float
    top: int
    bottom: float
    dots: tuple[Dot, ...]
    line: str
    tolerance_y: float
    tolerance: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str


def error_plot(errors: Sequence[float], tolerance: float) -> ErrorPlot:
    """A plot of at least two steps' errors (any finite or infinite numbers, 0 included)."""
    width, height, left, top = 440, 190, 46, 12
    right, bottom = width - 14.0, height - 40.0
    logs = [_log(error) for error in errors]
    limit = _log(tolerance)
    low = max(SMALLEST, math.floor(min(*logs, limit)) - 1)
    high = min(LARGEST, math.ceil(max(*logs, limit)) + 1)

    def x(step: int) -> float:
        return round(left + 16 + (right - left - 32) * step / (len(errors) - 1), 1)

    def y(log: float) -> float:
        return round(bottom - (bottom - top) * (log - low) / (high - low), 1)

    dots = tuple(
        Dot(
            x(step),
            y(min(max(log, low), high)),
            not error <= tolerance,
            tr("step {n}: error {error:.2g}", n=step, error=error),
        )
        for step, (error, log) in enumerate(zip(errors, logs, strict=True))
    )
    every = max(1, math.ceil((high - low) / 5))
    return ErrorPlot(
        width,
        height,
        left,
        right,
        top,
        bottom,
        dots,
        " ".join(f"{dot.x},{dot.y}" for dot in dots),
        y(limit),
        power(tolerance),
        tuple(Tick(x(step), str(step)) for step in _steps(len(errors))),
        tuple(Tick(y(log), power(10.0**log)) for log in range(high, low - 1, -every)),
        _summary(errors, tolerance),
    )


def _log(value: float) -> float:
    if not value > 0:  # NaN too, which no comparison keeps
        return SMALLEST
    return min(max(math.log10(value), SMALLEST), LARGEST) if math.isfinite(value) else LARGEST


def _steps(count: int) -> range:
    return range(0, count, max(1, math.ceil(count / 12)))


def power(value: float) -> str:
    """`10⁻⁹` for a power of ten, else `3e-05`."""
    exponent = round(math.log10(value)) if value > 0 else 0
    if value > 0 and math.isclose(value, 10.0**exponent, rel_tol=1e-6):
        digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return {0: "1", 1: "10"}.get(exponent, f"10{digits}")
    return f"{value:.2g}"


def _summary(errors: Sequence[float], tolerance: float) -> str:
    wrong = [step for step, error in enumerate(errors) if not error <= tolerance]
    if not wrong:
        return tr("All {n} steps are within the tolerance.", n=len(errors))
    first, limit = wrong[0], power(tolerance)
    if first > 1:
        before = tr("Steps 0 to {n} are within the tolerance {limit}; ", n=first - 1, limit=limit)
    else:
        before = tr("Step 0 is within the tolerance {limit}; ", limit=limit) if first else ""
    return before + tr(
        "step {n} is the first that is wrong, with an error of {error:.2g}; the largest error is "
        "{worst:.2g}.",
        n=first,
        error=errors[first],
        worst=max(errors),
    )


@dataclass(frozen=True)
class HistogramBar:
    """One bar; `height` is of 100."""

    x: float
    width: float
    height: float
    count: int
    label: str


@dataclass(frozen=True)
class Histogram:
    """Counts by bins; x runs from 0 to 1000 and y from 0 (top) to 100."""

    bars: tuple[HistogramBar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    median_x: float
    median: float
    summary: str


def histogram(values: Sequence[float], most: float, n_bins: int, unit: str) -> Histogram | None:
    """How often which values occur, in `n_bins` bins from 0 to `most`; None without values."""
    if not values or not most > 0:
        return None
    counts = [0] * n_bins
    for value in values:
        counts[min(int(value / most * n_bins), n_bins - 1)] += 1
    highest = max(counts)
    width = 1000 / n_bins
    bars = tuple(
        HistogramBar(
            round(width * number + 2, 1),
            round(width - 4, 1),
            round(100 * count / highest, 1),
            count,
            tr("{bin} {unit}: {n}", bin=_bin(number, n_bins, most), unit=unit, n=count),
        )
        for number, count in enumerate(counts)
        if count
    )
    middle = median(values)
    return Histogram(
        bars,
        tuple(Tick(round(1000 * at / most, 1), f"{at:g}") for at in _round_numbers(most)),
        tuple(Tick(round(100 - 100 * c / highest, 1), str(c)) for c in _counts(highest)),
        round(1000 * min(middle / most, 1), 1),
        middle,
        tr(
            "{n} values from {low:.4g} to {high:.4g} {unit}; half of them are below {middle:.4g}. "
            "{bars}.",
            n=len(values),
            low=min(values),
            high=max(values),
            unit=unit,
            middle=middle,
            bars=tr("; ").join(bar.label for bar in bars),
        ),
    )


def _bin(number: int, n_bins: int, most: float) -> str:
    low, high = (most * edge / n_bins for edge in (number, number + 1))
    return tr("{low:.3g} to {high:.3g}", low=low, high=high)


def _round_numbers(most: float) -> list[float]:
    """0 and the multiples of 1, 2 or 5 (times a power of ten) up to `most`: four to nine."""
    power_of_ten = 10.0 ** math.floor(math.log10(most / 4))
    step = next(f * power_of_ten for f in (5, 2, 1) if most / (f * power_of_ten) >= 3)
    return [round(step * number, 9) for number in range(int(most / step + 1e-9) + 1)]


def _counts(highest: int) -> list[int]:
    """Two or three whole numbers up to the highest count."""
    return [0, highest] if highest < 4 else [0, highest // 2, highest]
