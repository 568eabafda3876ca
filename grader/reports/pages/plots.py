"""Numbers for the class page's drawings; its template turns them into SVG and the stylesheet
colours them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from assignment.harness.page.plots import Tick
from grader.base.words import tr


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
