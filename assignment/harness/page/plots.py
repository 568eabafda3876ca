"""The error of each decode step, and an array's wrong entries: drawn as SVG, which the stylesheet
colours.

Coordinates are those of the drawing's viewBox, y downwards.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..compare import at
from ..difference import Difference
from ..words import tr
from .markup import Child, Element, element

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


def draw_error_plot(plot: ErrorPlot) -> Element:
    """The plot of the errors."""
    label = tr(
        "Largest error of each decode step, on a logarithmic scale. {summary}",
        summary=plot.summary,
    )
    across = {"x1": plot.left, "x2": plot.right}
    y = plot.tolerance_y
    drawn: list[Child] = []
    for tick in plot.y_ticks:
        drawn.append(element("line", class_="grid", y1=tick.at, y2=tick.at, **across))
        drawn.append(_label(tick.label, plot.left - 8, tick.at + 4, "end"))
    drawn.append(element("line", class_="tolerance", y1=y, y2=y, **across))
    tolerance = tr("tolerance {value}", value=plot.tolerance)
    drawn.append(_label(tolerance, plot.right, y + 14, "end", class_="tolerance-label"))
    drawn.append(element("polyline", class_="line", points=plot.line))
    drawn += [_draw_dot(dot) for dot in plot.dots]
    below = plot.bottom + 18
    drawn += [_label(tick.label, tick.at, below, "middle") for tick in plot.x_ticks]
    name, middle = tr("decode step (0 is the prefill)"), (plot.left + plot.right) / 2
    drawn.append(_label(name, middle, plot.height - 4, "middle"))
    return _drawing("plot", plot.width, plot.height, label, drawn)


def _draw_dot(dot: Dot) -> Element:
    title = element("title", dot.label)
    if dot.is_wrong:
        cross = f"M{dot.x - 4:g} {dot.y - 4:g}l8 8m0-8l-8 8"
        return element("path", title, class_="wrong", d=cross)
    return element("circle", title, class_="right", cx=dot.x, cy=dot.y, r=4)


# ---------------------------------------------------------------------------- an array's entries

WIDTH, GAP, TITLE = 440.0, 14.0, 16.0
MAX_CELL, MIN_PANEL = 14.0, 96.0


def draw_difference(difference: Difference) -> Element:
    """Which entries are wrong: a panel for each of the outer axes' places."""
    cells = difference.cells
    n_panels, n_rows, n_columns = cells.shape
    least = max(MIN_PANEL, min(WIDTH, n_columns * 3.0))
    per_line = min(n_panels, int((WIDTH + GAP) // (least + GAP)))
    if difference.panel_axes:  # heads beside each other, batches below each other
        per_line = min(per_line, difference.shape[difference.panel_axes[-1]])
    width = (WIDTH - GAP * (per_line - 1)) / per_line
    cell = min(MAX_CELL, width / n_columns)
    # Many rows of few columns, and one row of many, are both to be seen.
    height = min(MAX_CELL, max(cell, 4.0))
    title = TITLE if difference.panel_axes else 2.0
    step_down = title + n_rows * height + GAP
    drawn: list[Child] = []
    for panel in range(n_panels):
        x, y = (panel % per_line) * (width + GAP), (panel // per_line) * step_down
        if difference.panel_axes:
            drawn.append(_label(_panel_title(difference, panel), x, y + 11))
        drawn += _cells(cells[panel], x, y + title, cell, height)
    whole = math.ceil(n_panels / per_line) * step_down - GAP
    return _drawing("difference", WIDTH, round(whole + 1, 1), in_words(difference), drawn)


def _cells(levels: Any, x: float, y: float, cell: float, height: float) -> list[Child]:
    """All cells of a level are one path, and neighbours in a row one rectangle."""
    size = {"width": round(cell * levels.shape[1], 2), "height": round(height * len(levels), 2)}
    paths: dict[int, list[str]] = {}
    for number, row in enumerate(levels.tolist()):
        start = 0
        for level, run in itertools.groupby(row):
            length = len(list(run))
            place = f"M{x + start * cell:.2f} {y + number * height:.2f}"
            if level:
                span = f"h{length * cell:.2f}v{height:.2f}h{-length * cell:.2f}z"
                paths.setdefault(level, []).append(place + span)
            start += length
    back = element("rect", class_="all-right", x=round(x, 2), y=round(y, 2), **size)
    found = [
        element("path", class_=f"off-{level}", d="".join(paths[level])) for level in sorted(paths)
    ]
    return [back, *found, _grid(levels.shape, x, y, cell, height)]


def _grid(shape: tuple[int, int], x: float, y: float, cell: float, height: float) -> Element | None:
    """Lines between cells that are large enough."""
    n_rows, n_columns = shape
    if min(cell, height) < 5:
        return None
    across = [f"M{x:.2f} {y + r * height:.2f}h{n_columns * cell:.2f}" for r in range(1, n_rows)]
    down = [f"M{x + c * cell:.2f} {y:.2f}v{n_rows * height:.2f}" for c in range(1, n_columns)]
    return element("path", class_="between", d="".join([*across, *down]))


def in_words(difference: Difference) -> str:
    """What the picture shows: at which places of each axis something is wrong, and where not."""
    wrong, right = [], []
    for axis, (found, length) in enumerate(zip(difference.wrong_at, difference.shape, strict=True)):
        wrong.append(_at(difference, axis, _ranges(found)))
        if rest := sorted(set(range(length)) - set(found)):
            right.append(_at(difference, axis, _ranges(rest)))
    words = tr("Something is wrong at {places}", places=tr(", ").join(wrong))
    if right:
        words += tr("; all is right at {places}", places=tr("; ").join(right))
    return tr("{sentence}.", sentence=words)


def directions(difference: Difference) -> str:
    """What goes down and what across."""
    last = len(difference.shape) - 1
    across, down = (
        _at(difference, axis, _ranges(range(difference.shape[axis])))
        for axis in (last, difference.row_axis)
    )
    if last == 0:
        return tr("Across: {axis}.", axis=across)
    return tr("Down: {down}; across: {across}.", down=down, across=across)


def _panel_title(difference: Difference, panel: int) -> str:
    places = zip(difference.panel_axes, difference.place_of_panel(panel), strict=True)
    return tr(", ").join(_at(difference, axis, index) for axis, index in places)


def _at(difference: Difference, axis: int, index: object) -> str:
    if not difference.axes:
        return tr("axis {axis}: {n}", axis=axis, n=index)
    return at(difference.axes[axis], index)


def _ranges(indices: Sequence[int]) -> str:
    """`0–2, 5`, and no more than four of them."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][-1] == index - 1:
            runs[-1] = [runs[-1][0], index]
        else:
            runs.append([index, index])
    texts = [f"{a}–{b}" if b > a else f"{a}" for a, b in runs]
    return tr(", ").join([*texts[:4], "…"] if len(texts) > 4 else texts)


# -------------------------------------------------------------------------------- what both have


def _drawing(name: str, width: float, height: float, label: str, drawn: list[Child]) -> Element:
    view = f"0 0 {width:g} {height:g}"
    return element("svg", drawn, class_=name, viewBox=view, role="img", aria_label=label)


def _label(
    text: str, x: float, y: float, anchor: str = "start", class_: str | None = None
) -> Element:
    return element("text", text, class_=class_, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def bar(own: float, given: float = 0.0) -> Element:
    """Points as a bar, in percent of its length; `given` behind `own` in another colour."""
    pieces = [
        element("rect", class_="track", width=100, height=10, rx=1),
        element("rect", class_="own", width=own, height=10, rx=1),
        element("rect", class_="given", x=own, width=given, height=10) if given else None,
    ]
    return element(
        "svg", pieces, class_="bar", viewBox="0 0 100 10", preserveAspectRatio="none",
        aria_hidden="true",
    )  # fmt: skip


def key(name: str) -> Element:
    """A colour of a legend."""
    rect = element("rect", class_=name, width=10, height=8)
    return element("svg", rect, class_="key", viewBox="0 0 10 8", aria_hidden="true")
