"""Comparing a student's array with the expected one: shape, dtype, finiteness, then size of error.

Nothing broadcasts here and NaN equals nothing, so a scalar or a NaN cannot pass for an array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .difference import Difference
from .shown import SideBySide, told_apart
from .words import spoken, tr

# Largest accepted error, relative to the largest expected value (at least 1, at most MAX_SCALE).
# Correct float64 code agrees to about 1e-12 and correct float32 code to about 1e-6; the smallest
# bug we know is larger by thousands.
TOLERANCE: dict[str, float] = {"float64": 1e-9, "float32": 1e-4}

# Up to here a float64 result is off by no more than float32 rounds.
FLOAT32_ROUNDING = 1e-6

# Where a property compares two results of the student's own, one huge entry in both must not make
# all other differences look small.
MAX_SCALE = 100.0

# Of how many decode steps a report keeps the error.
MAX_STEPS = 64

Axes = tuple[str, ...]


class Mismatch(AssertionError):
    """A wrong answer, described for the person who wrote it.

    Attributes:
        where: the line of the message that says where the answer is first wrong, if one does.
        first_bad: index of the first wrong value by axis name, as in {"step": 1, "batch": 0}.
        max_error: largest error, relative as TOLERANCE.
        tolerance: what would have been accepted.
        got: the wrong array itself, where its shape and dtype are right.
        error_by_step: largest error of each decode step, relative as TOLERANCE; at most MAX_STEPS.
        side_by_side: got and expected, where they are small.
        difference: which entries are wrong.
    """

    def __init__(
        self,
        message: str,
        where: str = "",
        first_bad: dict[str, int] | None = None,
        max_error: float | None = None,
        tolerance: float | None = None,
        got: np.ndarray | None = None,
        error_by_step: tuple[float, ...] = (),
        side_by_side: SideBySide | None = None,
        difference: Difference | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.first_bad = first_bad or {}
        self.max_error = max_error
        self.tolerance = tolerance
        self.got = got
        self.error_by_step = error_by_step
        self.side_by_side = side_by_side
        self.difference = difference

    def add(self, line: str) -> None:
        """Say one more thing."""
        self.message += f"\n{line}"

    def __str__(self) -> str:
        return self.message


def check(condition: bool, message: str) -> None:
    """Fail with `message` unless the condition holds."""
    if not condition:
        raise Mismatch(message)


def check_array(got: Any, expected: np.ndarray, what: str, axes: Axes = ()) -> None:
    """Fail unless `got` is `expected` up to rounding.

    Args:
        what: what was computed, as the message's subject: "apply_rope(x, positions)".
        axes: a name for each axis, outermost first: ("step", "batch", "token").
    """
    check_kind(got, expected, what)
    if expected.dtype.kind not in "fc":
        _check_exact(got, expected, what, axes)
        return
    _check_finite(got, expected, what, axes)
    _check_close(got, expected, what, axes)


def check_kind(got: object, expected: np.ndarray, what: str) -> None:
    """Fail unless `got` is a plain array of the expected shape and dtype.

    `expected` may be the student's own too, where a property compares two of their results.
    """
    if type(expected) is not np.ndarray:
        other = describe_type(expected)
        raise Mismatch(
            tr("{what}: compared with {other}, which is no array", what=what, other=other)
        )
    if type(got) is not np.ndarray:
        words = tr(
            "{what}: got {got}, expected an array of shape {shape}",
            what=what,
            got=describe_type(got),
            shape=expected.shape,
        )
        raise Mismatch(words)
    if got.shape != expected.shape:
        words = tr(
            "{what}: shape {got}, expected {shape}", what=what, got=got.shape, shape=expected.shape
        )
        raise Mismatch(words)
    if got.dtype != expected.dtype and not _both_integers(got, expected):
        raise Mismatch(_dtype_message(got.dtype, expected.dtype, what))


def check_refused(call: Callable[[], object], what: str) -> None:
    """Fail unless the call raises a ValueError."""
    try:
        call()
    except ValueError:
        return
    raise Mismatch(tr("{what} was accepted; a ValueError is expected", what=what))


def check_differs(got: Any, other: np.ndarray, what: str) -> None:
    """Fail where two results agree that must not: a function that ignores its input.

    Guards the properties that hold for a constant or for an unchanged input too.
    """
    check_kind(got, other, what)
    check(not np.allclose(got, other), tr("{what}: the result is the same", what=what))


def describe_type(got: object) -> str:
    """What came in place of what was expected, as the object of "got"."""
    if got is None:
        return tr("None (is a return missing?)")
    if isinstance(got, np.generic):
        return tr("the scalar {got!r}", got=got)
    described = getattr(type(got), "described", None)
    return described(got) if described else tr("something of type {name}", name=type(got).__name__)


def _both_integers(got: np.ndarray, expected: np.ndarray) -> bool:
    """Token ids may come in any integer width."""
    return got.dtype.kind in "iu" and expected.dtype.kind in "iu"


def _dtype_message(got: np.dtype, expected: np.dtype, what: str) -> str:
    message = tr("{what}: dtype {got}, expected {expected}", what=what, got=got, expected=expected)
    if (got, expected) == (np.float64, np.float32):
        message += tr(
            "\nfloat32 went in and float64 came out: np.sqrt(64), np.eye(n) and np.float64 "
            "constants promote,\nPython floats (math.sqrt(64)) do not; angles need .astype(x.dtype)"
        )
    return message


def _check_exact(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    wrong = ~((got == expected) | ((got != got) & (expected != expected)))
    if wrong.any():
        first = _first(wrong)
        where = tr(
            "first wrong at {place}: got {got}, expected {expected}",
            place=_place(first, axes),
            got=got[first],
            expected=expected[first],
        )
        raise Mismatch(
            f"{_right_kind(expected, what)}\n{where}\n{_count(wrong)}",
            where,
            first_bad=_named(first, axes),
            got=got,
            side_by_side=SideBySide.of(got, expected, wrong),
            difference=Difference.of(wrong, axes),
        )


def _check_finite(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    """Infinities must stand exactly where they are expected, and NaN nowhere."""
    wrong = np.isnan(got) | (np.isinf(got) != np.isinf(expected))
    wrong |= np.isinf(expected) & (got != expected)
    if wrong.any():
        first = _first(wrong)
        words = tr(
            "{what}: got {got} where {expected:.6g} is expected",
            what=what,
            got=got[first],
            expected=expected[first],
        )
        where = tr(
            "first wrong at {place}; {count}", place=_place(first, axes), count=_count(wrong)
        )
        raise Mismatch(
            f"{words}\n{where}",
            where,
            first_bad=_named(first, axes),
            got=got,
            side_by_side=SideBySide.of(got, expected, wrong),
            difference=Difference.of(wrong, axes),
        )


def _check_close(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    finite = np.isfinite(expected)
    whole, got, target = got, np.where(finite, got, 0), np.where(finite, expected, 0)
    tolerance = TOLERANCE.get(str(expected.dtype))
    if tolerance is None:
        words = tr(
            "{what}: dtype {dtype}, expected float64 or float32", what=what, dtype=expected.dtype
        )
        raise Mismatch(words)
    scale = min(max(1.0, float(np.abs(target).max(initial=0.0))), MAX_SCALE)
    error = np.abs(got.astype(np.float64) - target.astype(np.float64)) / scale
    wrong = error > tolerance
    if not wrong.any():
        return
    first = _first(wrong)
    worst = tuple(map(int, np.unravel_index(error.argmax(), error.shape)))
    one, other = told_apart(float(got[first]), float(target[first]))
    where = tr(
        "first wrong at {place}: got {got}, expected {expected}",
        place=_place(first, axes),
        got=one,
        expected=other,
    )
    largest = tr(
        "largest error {error:.2g} at {worst}, tolerance {tolerance:.0e}",
        error=error[worst],
        worst=_place(worst, axes),
        tolerance=tolerance,
    )
    count = _count(wrong) + _still_right(wrong, axes)
    if expected.dtype == np.float64 and error[worst] <= FLOAT32_ROUNDING:
        count += _imprecise()
    raise Mismatch(
        f"{_right_kind(expected, what)}\n{where}\n{largest}\n{count}",
        where,
        first_bad=_named(first, axes),
        max_error=float(error[worst]),
        tolerance=tolerance,
        got=whole,
        error_by_step=_by_step(error, axes),
        side_by_side=SideBySide.of(whole, expected, wrong),
        difference=Difference.of(wrong, axes, error),
    )


def _imprecise() -> str:
    return tr(
        "\nthis is float32's precision: something on the way is float32 (print the dtype of each "
        "step's result),\nor a small constant such as 1e-8 is added somewhere"
    )


def _right_kind(expected: np.ndarray, what: str) -> str:
    return tr(
        "{what}: shape {shape} and dtype {dtype} are right, values are not",
        what=what,
        shape=expected.shape,
        dtype=expected.dtype,
    )


def _by_step(error: np.ndarray, axes: Axes) -> tuple[float, ...]:
    """The largest error of each step, where the first axis is the decode step."""
    if axes[:1] != ("step",):
        return ()
    worst = error.reshape(len(error), -1).max(axis=1)[:MAX_STEPS]
    return tuple(float(f"{step:.3g}") for step in worst)


def _still_right(wrong: np.ndarray, axes: Axes) -> str:
    """Say so when an axis starts right, as in "step 0 is right": that tells where to look."""
    notes = []
    for axis, name in enumerate(axes if len(axes) == wrong.ndim else ()):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        last = int(wrong.any(axis=others).argmax()) - 1
        if last >= 0:
            notes.append(
                tr("; {place} is right", place=at(name, 0))
                if last == 0
                else tr(
                    "; {axis}s 0 to {last} are right",
                    axis=name,
                    last=last,
                    places=at(name, f"0–{last}"),
                )
            )
    return "".join(notes)


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(wrong.argmax(), wrong.shape))


def _named(index: tuple[int, ...], axes: Axes) -> dict[str, int]:
    return {name: int(i) for name, i in zip(axes, index, strict=False)}


def _place(index: tuple[int, ...], axes: Axes) -> str:
    if not index:
        return tr("the only value")
    if len(axes) != len(index):
        return tr("index {index}", index=tuple(int(i) for i in index))
    return tr(", ").join(at(name, i) for name, i in zip(axes, index, strict=True))


def at(axis: str, index: object) -> str:
    """A place on a named axis, as in "step 3"."""
    return spoken(f"{axis} {{n}}").format(n=index)


def _count(wrong: np.ndarray) -> str:
    return tr("{n} of {total} values are wrong", n=int(wrong.sum()), total=wrong.size)
