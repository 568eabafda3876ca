"""Part 11's formulas: asked with the lecture's numbers, and then with others."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cases import Case
from .compare import Mismatch, describe_type
from .counts import Answer, as_number, check_names, check_numbers
from .exercises import explanation
from .quantity import shown
from .student import Student
from .words import tr

# Room for code that computes in float32; the smallest mistake that is told is larger by hundreds.
TOLERANCE = 1e-6
MAX_AXES = 8

# A number, a shape, or shapes by name.
Expected = float | Sequence[int] | Mapping[str, Sequence[int]]


def check_formula(
    student: Student,
    case: Case,
    example: Mapping[str, int],
    expected: Expected,
    tolerance: float = TOLERANCE,
) -> None:
    """Fail unless the function that a case is named after answers for the example and the case.

    Args:
        example: the sizes that the lecture takes, by argument.
        expected: what it finds for them.
        tolerance: of numbers, relative.
    """
    name = case.name.rpartition("/")[2]
    calls, wanted = [example, *case.calls], [expected, *case.expected]
    typed = [f"{name}({', '.join(f'{size}={call[size]}' for size in example)})" for call in calls]
    answers = [
        Answer(text, _read(text, _ask(student, name, call, text), expected), right)
        for text, call, right in zip(typed, calls, wanted, strict=True)
    ]
    try:
        if isinstance(expected, int | float):
            check_numbers(answers, tolerance)
        else:
            _check_shapes(answers)
    except Mismatch as wrong:
        if why := _explained(case, [answer.got for answer in answers[1:]], tolerance):
            wrong.add(why)
        raise


def _ask(student: Student, name: str, call: Mapping[str, int], typed: str) -> Any:
    """What the function returns; one without arguments, as they were once asked for, is told so."""
    function = getattr(student, name)
    try:
        return function(**call)
    except TypeError:
        try:
            answer = function()
        except TypeError:
            answer = None
        if answer is None:
            raise
    words = tr(
        "{name} takes no arguments and returns {answer}: one answer for all sizes\n"
        "wanted is a function of named arguments now, which returns the number (or the shape, as a "
        "tuple) for whatever it is given:\n{typed}",
        name=name,
        answer=_shown(answer),
        typed=typed,
    )
    raise Mismatch(words)


# --- what was returned ----------------------------------------------------------------------------


def _read(typed: str, got: Any, like: Expected) -> Any:
    """An answer as plain values of the kind that is expected; else a Mismatch says what it is."""
    if isinstance(like, Mapping):
        check_names(typed, got, like)
        return {name: _shape(f"{typed}[{name!r}]", got[name]) for name in like}
    return _number(typed, got) if isinstance(like, int | float) else _shape(typed, got)


def _number(typed: str, got: Any) -> Any:
    """A number of any kind, as one of Python's or numpy's."""
    has_a_unit = isinstance(got, tuple | list) and len(got) == 2 and isinstance(got[1], str)
    if isinstance(got, str) or has_a_unit:
        words = tr(
            "{call}\ngot {got}, expected the number itself: no unit, no quotes, nothing rounded",
            call=typed,
            got=_shown(got),
        )
        raise Mismatch(words)
    if not isinstance(got, bool):
        # A Fraction or a Decimal too, also where it stayed in a worker.
        with contextlib.suppress(AttributeError, TypeError, ValueError, ArithmeticError):
            above, below = got.as_integer_ratio()
            got = above if below == 1 else above / below
    as_number(typed, got)
    return got


def _shape(typed: str, got: Any) -> tuple[int, ...]:
    """The sizes in a tuple, a list or an array of whole numbers."""
    sizes = got.tolist() if type(got) is np.ndarray and got.size <= MAX_AXES else got
    if isinstance(sizes, tuple | list) and len(sizes) <= MAX_AXES and all(map(_is_whole, sizes)):
        return tuple(int(size) for size in sizes)
    words = tr(
        "{call}\ngot {got}, expected a tuple of rows and columns, as in (12, 34)",
        call=typed,
        got=_shown(got),
    )
    raise Mismatch(words)


def _is_whole(size: Any) -> bool:
    if isinstance(size, float | np.floating):
        return math.isfinite(size) and size == int(size)
    return isinstance(size, int | np.integer) and not isinstance(size, bool)


def _shown(got: Any) -> str:
    return shown(got) if isinstance(got, str | int | float) else describe_type(got)


# --- right and wrong ------------------------------------------------------------------------------


def _check_shapes(answers: Sequence[Answer]) -> None:
    for answer in answers:
        of_one = answer.got if isinstance(answer.got, dict) else {"": answer.got}
        wanted = answer.expected if isinstance(answer.expected, Mapping) else {"": answer.expected}
        for name, shape in of_one.items():
            if shape != tuple(wanted[name]):
                words = tr(
                    "{call}\ngot {got}, expected {expected}",
                    call=f"{answer.call}[{name!r}]" if name else answer.call,
                    got=shape,
                    expected=tuple(wanted[name]),
                )
                raise Mismatch(words)


def _explained(case: Case, got: Sequence[Any], tolerance: float) -> str:
    """What the mistake is told that gives all of these answers, or ""."""
    for mistake, values in case.mistakes.items():
        if all(_is_same(one, value, tolerance) for one, value in zip(got, values, strict=True)):
            return explanation(mistake)
    return ""


def _is_same(got: Any, value: Any, tolerance: float) -> bool:
    if isinstance(value, Mapping):
        return got == {name: tuple(shape) for name, shape in value.items()}
    if isinstance(value, list):
        return got == tuple(value)
    return abs(as_number("", got) - value) <= tolerance * abs(value)
