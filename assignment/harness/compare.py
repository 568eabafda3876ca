"""Comparing a student's array with the expected one: shape, dtype, finiteness, then size of error.

Nothing broadcasts here and NaN equals nothing, so a scalar or a NaN cannot pass for an array.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Largest accepted error, relative to the largest expected value (at least 1, at most MAX_SCALE).
# Correct float64 code agrees to about 1e-12 and correct float32 code to about 1e-6; the smallest
# bug we know is larger by thousands.
TOLERANCE: dict[str, float] = {"float64": 1e-9, "float32": 1e-4}

# Where a property compares two results of the student's own, one huge entry in both must not make
# all other differences look small.
MAX_SCALE = 100.0

Axes = tuple[str, ...]


class Mismatch(AssertionError):
    """A wrong answer, described for the person who wrote it.

    Attributes:
        first_bad: index of the first wrong value by axis name, as in {"step": 1, "batch": 0}.
        max_error: largest error, relative as TOLERANCE.
        tolerance: what would have been accepted.
        got: the wrong array itself, where its shape and dtype are right.
    """

    def __init__(
        self,
        message: str,
        first_bad: dict[str, int] | None = None,
        max_error: float | None = None,
        tolerance: float | None = None,
        got: np.ndarray | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.first_bad = first_bad or {}
        self.max_error = max_error
        self.tolerance = tolerance
        self.got = got

    def add(self, line: str) -> None:
        """Say one more thing."""
        self.message += f"\n{line}"

    def __str__(self) -> str:
        return self.message


def check(condition: bool, message: str) -> None:
    """Fail with `message` unless the condition holds."""
    if not condition:
        raise Mismatch(message)


def check_array(got: object, expected: np.ndarray, what: str, axes: Axes = ()) -> None:
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
        raise Mismatch(f"{what}: compared with {_describe_type(expected)}, which is no array")
    if type(got) is not np.ndarray:
        raise Mismatch(
            f"{what}: got {_describe_type(got)}, expected an array of shape {expected.shape}"
        )
    if got.shape != expected.shape:
        raise Mismatch(f"{what}: shape {got.shape}, expected {expected.shape}")
    if got.dtype != expected.dtype and not _both_integers(got, expected):
        raise Mismatch(_dtype_message(got.dtype, expected.dtype, what))


def check_refused(call: Callable[[], object], what: str) -> None:
    """Fail unless the call raises a ValueError."""
    try:
        call()
    except ValueError:
        return
    raise Mismatch(f"{what} was accepted; a ValueError is expected")


def check_differs(got: object, other: np.ndarray, what: str) -> None:
    """Fail where two results agree that must not: a function that ignores its input.

    Guards the properties that hold for a constant or for an unchanged input too.
    """
    check_kind(got, other, what)
    check(not np.allclose(got, other), f"{what}: the result is the same")


def _describe_type(got: object) -> str:
    if got is None:
        return "None (is a return missing?)"
    if isinstance(got, np.generic):
        return f"the scalar {got!r}"
    described = getattr(type(got), "described", None)
    return described(got) if described else f"something of type {type(got).__name__}"


def _both_integers(got: np.ndarray, expected: np.ndarray) -> bool:
    """Token ids may come in any integer width."""
    return got.dtype.kind in "iu" and expected.dtype.kind in "iu"


def _dtype_message(got: np.dtype, expected: np.dtype, what: str) -> str:
    message = f"{what}: dtype {got}, expected {expected}"
    if (got, expected) == (np.float64, np.float32):
        message += (
            "\nfloat32 went in and float64 came out: np.sqrt(64) and np.float64 constants "
            "promote,\nPython floats (math.sqrt(64)) do not; angles need .astype(x.dtype)"
        )
    return message


def _check_exact(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    wrong = ~((got == expected) | ((got != got) & (expected != expected)))
    if wrong.any():
        first = _first(wrong)
        raise Mismatch(
            f"{what}: shape {expected.shape} and dtype {expected.dtype} are right, values are not\n"
            f"first wrong at {_place(first, axes)}: got {got[first]}, expected {expected[first]}\n"
            f"{_count(wrong)}",
            first_bad=_named(first, axes),
            got=got,
        )


def _check_finite(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    """Infinities must stand exactly where they are expected, and NaN nowhere."""
    wrong = np.isnan(got) | (np.isinf(got) != np.isinf(expected))
    wrong |= np.isinf(expected) & (got != expected)
    if wrong.any():
        first = _first(wrong)
        raise Mismatch(
            f"{what}: got {got[first]} where {expected[first]:.6g} is expected\n"
            f"first wrong at {_place(first, axes)}; {_count(wrong)}",
            first_bad=_named(first, axes),
            got=got,
        )


def _check_close(got: np.ndarray, expected: np.ndarray, what: str, axes: Axes) -> None:
    finite = np.isfinite(expected)
    whole, got, target = got, np.where(finite, got, 0), np.where(finite, expected, 0)
    tolerance = TOLERANCE.get(str(expected.dtype))
    if tolerance is None:
        raise Mismatch(f"{what}: dtype {expected.dtype}, expected float64 or float32")
    scale = min(max(1.0, float(np.abs(target).max(initial=0.0))), MAX_SCALE)
    error = np.abs(got.astype(np.float64) - target.astype(np.float64)) / scale
    wrong = error > tolerance
    if not wrong.any():
        return
    first, worst = _first(wrong), np.unravel_index(error.argmax(), error.shape)
    raise Mismatch(
        f"{what}: shape {expected.shape} and dtype {expected.dtype} are right, values are not\n"
        f"first wrong at {_place(first, axes)}: got {got[first]:.6g}, expected {target[first]:.6g}"
        f"\nlargest error {error[worst]:.2g} at {_place(worst, axes)}, tolerance {tolerance:.0e}\n"
        f"{_count(wrong)}{_still_right(wrong, axes)}",
        first_bad=_named(first, axes),
        max_error=float(error[worst]),
        tolerance=tolerance,
        got=whole,
    )


def _still_right(wrong: np.ndarray, axes: Axes) -> str:
    """Say so when an axis starts right, as in "step 0 is right": that tells where to look."""
    notes = []
    for axis, name in enumerate(axes if len(axes) == wrong.ndim else ()):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        last = int(wrong.any(axis=others).argmax()) - 1
        if last >= 0:
            notes.append(f"{name} 0 is right" if last == 0 else f"{name}s 0 to {last} are right")
    return "".join(f"; {note}" for note in notes)


def _first(wrong: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(wrong.argmax(), wrong.shape))


def _named(index: tuple[int, ...], axes: Axes) -> dict[str, int]:
    return {name: int(i) for name, i in zip(axes, index, strict=False)}


def _place(index: tuple[int, ...], axes: Axes) -> str:
    if not index:
        return "the only value"
    if len(axes) != len(index):
        return f"index {tuple(int(i) for i in index)}"
    return ", ".join(f"{name} {int(i)}" for name, i in zip(axes, index, strict=True))


def _count(wrong: np.ndarray) -> str:
    return f"{int(wrong.sum())} of {wrong.size} values are wrong"
