"""Comparing answers that are single numbers: counts to the last digit, others up to rounding.

A test asks for many at once, so that one look shows which of them are right, and so that known bugs
can be told apart by all of them together.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..transformer import MLAConfig, ModelConfig
from .compare import TOLERANCE, Mismatch, check, describe_type
from .student import Student
from .words import tr


@dataclass(frozen=True)
class Answer:
    """One number a student's function gave.

    Attributes:
        call: as one would type it.
    """

    call: str
    got: Any
    expected: Any


def ask(student: Student, function: str, call: Mapping[str, Any]) -> tuple[str, Any]:
    """The call as one would type it, and what it returns.

    Args:
        call: arguments by name. `config` is a dict of the sizes of a model, handed over as the
            given ModelConfig or MLAConfig.
    """
    arguments = dict(call)
    typed = [f"{name}={value!r}" for name, value in call.items() if name != "config"]
    if "config" not in call:
        return f"{function}({', '.join(typed)})", getattr(student, function)(**arguments)
    sizes = arguments.pop("config")
    kind = MLAConfig if "latent_dim" in sizes else ModelConfig
    config = getattr(student, kind.__name__)(**sizes)
    in_order = [f"{f.name}={sizes[f.name]!r}" for f in fields(kind) if f.name in sizes]
    typed.insert(0, f"{kind.__name__}({', '.join(in_order)})")
    return f"{function}({', '.join(typed)})", getattr(student, function)(config, **arguments)


def check_counts(answers: Iterable[Answer]) -> None:
    """Fail unless every answer is exactly the expected integer."""
    answers = list(answers)
    wrong = [a for a in answers if as_count(a.call, a.got) != a.expected]
    if wrong:
        raise Mismatch(_told(wrong, answers), got=_as_array(answers))


def check_numbers(answers: Iterable[Answer], tolerance: float = TOLERANCE["float64"]) -> None:
    """Fail unless every answer is the expected number up to rounding."""
    answers = list(answers)
    wrong = [a for a in answers if not _is_close(as_number(a.call, a.got), a.expected, tolerance)]
    if wrong:
        raise Mismatch(_told(wrong, answers), got=_as_array(answers))


def as_count(call: str, got: Any) -> int:
    """A whole number that a function returned; a numpy integer is one, a float is none."""
    if isinstance(got, float | np.floating):
        words = tr(
            "{call}\ngot the float {got!r}, expected an int: floats are exact up to 2**53 only. "
            "Where you divide, use //",
            call=call,
            got=float(got),
        )
        raise Mismatch(words)
    if not _is_integer(got):
        words = tr("{call}\ngot {got}, expected an int", call=call, got=describe_type(got))
        raise Mismatch(words)
    return operator.index(got)


def as_number(call: str, got: object) -> float:
    """A real number that a function returned, an int or one of numpy's among them."""
    if type(got) is np.ndarray and got.shape == ():
        got = got[()]
    if not _is_integer(got) and not isinstance(got, float | np.floating):
        words = tr("{call}\ngot {got}, expected a number", call=call, got=describe_type(got))
        raise Mismatch(words)
    return _as_float(got)


def check_names(call: str, got: object, names: Iterable[str]) -> None:
    """Fail unless `got` is a dict with exactly these names."""
    if not isinstance(got, Mapping):
        words = tr("{call}\ngot {got}, expected a dict", call=call, got=describe_type(got))
        raise Mismatch(words)
    names = tuple(names)
    for name in names:
        check(name in got, tr("{call}\nthe dict lacks {name!r}", call=call, name=name))
    if len(got) > len(names):
        extra = next(name for name in got if name not in names)
        words = tr(
            "{call}\nthe dict has {name!r}; its names are {names}",
            call=call,
            name=str(extra)[:60],
            names=", ".join(names),
        )
        raise Mismatch(words)


def answers_by_name(call: str, got: Any, expected: Mapping[str, int]) -> list[Answer]:
    """The answers in a dict, which must have exactly the expected names."""
    check_names(call, got, expected)
    return [Answer(f"{call}[{name!r}]", got[name], expected[name]) for name in expected]


def answers_of_pair(call: str, got: Any, expected: Sequence[int]) -> list[Answer]:
    """The answers in a tuple of two; a list or an array of two is as good."""
    length = len(got) if isinstance(got, tuple | list) else None
    if length != 2 and not (type(got) is np.ndarray and got.shape == (2,)):
        words = tr("{call}\ngot {got}, expected two ints", call=call, got=describe_type(got))
        raise Mismatch(words)
    turned = all(map(_is_integer, got)) and [got[1], got[0]] == [*expected]
    if turned and expected[0] != expected[1]:
        raise Mismatch(tr("{call}\ngot the right numbers in the wrong order", call=call))
    return [Answer(f"{call}[{i}]", got[i], expected[i]) for i in range(2)]


def _is_integer(got: Any) -> bool:
    if isinstance(got, bool | np.bool_):
        return False
    try:
        operator.index(got)
    except TypeError:
        return False
    return True


def _is_close(got: float, expected: float, tolerance: float) -> bool:
    return abs(got - expected) <= tolerance * abs(expected)


def _as_float(got: Any) -> float:
    try:
        return float(got)
    except OverflowError:
        return float("inf") if got > 0 else float("-inf")


def _as_array(answers: list[Answer]) -> np.ndarray:
    return np.array([_as_float(answer.got) for answer in answers])


def _told(wrong: list[Answer], answers: list[Answer]) -> str:
    first = wrong[0]
    return tr(
        "{call}\ngot {got}, expected {expected}: {compared}{overflow}\n"
        "{n} of {total} numbers are wrong",
        call=first.call,
        got=_shown(first.got),
        expected=_shown(first.expected),
        compared=_compared(first.got, first.expected),
        overflow=_overflow(first),
        n=len(wrong),
        total=len(answers),
    )


def _compared(got: Any, expected: float) -> str:
    """How far off: of counts also the difference, which often is the size of what was forgotten."""
    ratio = _as_float(got) / _as_float(expected) if expected else float("inf")
    if not _is_integer(got) or not isinstance(expected, int):
        return tr("{ratio:.6g} of it", ratio=ratio)
    difference = operator.index(got) - expected
    by = _shown(abs(difference))
    off = tr("too small by {by}", by=by) if difference < 0 else tr("too large by {by}", by=by)
    # A ratio of 1 would say that it is right.
    return off if f"{ratio:.4g}" == "1" else tr("{ratio:.4g} of it, {off}", ratio=ratio, off=off)


def _shown(got: Any) -> str:
    """Digits in groups of three; Python refuses to print integers of thousands of digits."""
    if not _is_integer(got):
        return f"{float(got):,}"
    number = operator.index(got)
    bits = number.bit_length()
    return f"{number:,}" if bits < 200 else tr("an integer of {bits} bits", bits=bits)


def _overflow(answer: Answer) -> str:
    """A numpy integer keeps the last bits of a count too large for it, and says nothing."""
    kind = getattr(answer.got, "dtype", None)
    if kind is None or kind.kind not in "iu" or not isinstance(answer.expected, int):
        return ""
    bits = 8 * kind.itemsize
    if (operator.index(answer.got) - answer.expected) % 2**bits:
        return ""
    return tr(
        "\nthese are the last {bits} bits of the right number: an {kind} overflowed; Python's "
        "int does not",
        bits=bits,
        kind=kind,
    )
