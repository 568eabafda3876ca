"""Answers such as "3.25 TFLOP" or "1.25": a number, the digits it is given to, and its unit.

The text may come from anybody. It is never evaluated, and its length, its digits and its
exponent are bounded before a number is made of it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .compare import describe_type
from .units import UNITS, example_of, name_of
from .words import tr

MAX_TEXT = 80
MAX_EXPONENT = 30
DIGITS_OF_FLOAT = 17


class Unreadable(ValueError):
    """No quantity of the kind that was asked for, in words for the person who wrote it."""


@dataclass(frozen=True)
class Quantity:
    """A positive or negative number with a unit.

    Attributes:
        number: as written, 万 and 亿 included.
        first_place: the power of ten of its first significant digit.
        digits: how many significant digits are written.
        sure_digits: the same without the zeros at the end of a whole number, which may stand for
            digits that were rounded away.
        unit, factor: as written, and what the number is multiplied by.
    """

    number: Fraction
    first_place: int
    digits: int
    sure_digits: int
    unit: str = ""
    factor: Fraction = Fraction(1)

    @property
    def value(self) -> float:
        """In the base unit of its kind: FLOPs, 1."""
        return float(self.number * self.factor)

    def half_a_digit(self, wanted: int) -> float:
        """Half a unit of the last digit given, of which zeros beyond the wanted digits are none.

        >>> read("1,480", "count").half_a_digit(wanted=3)  # as good as 1.48e3
        5.0
        >>> read("1,480", "count").half_a_digit(wanted=4)
        0.5
        """
        given = min(self.digits, max(self.sure_digits, wanted))
        return float(Fraction(10) ** (self.first_place + 1 - given) * self.factor / 2)

    def least(self, wanted: int) -> float:
        """The smallest value that rounds to this number, given to so many digits.

        Below a power of ten the digits are smaller: 99,000 is "9.9e4" and not "1.0e5".

        >>> read("6e4", "count").least(wanted=1), read("1e5", "count").least(wanted=1)
        (55000.0, 95000.0)
        """
        is_power = self.number == Fraction(10) ** self.first_place
        return self.value - self.half_a_digit(wanted) / (10 if is_power else 1)

    def times(self, factor: Fraction) -> Quantity:
        """That many times as much, given to as many digits."""
        return replace(self, factor=self.factor * factor)

    def in_other_units(self, kind: str) -> Iterable[Quantity]:
        """The same number with every other unit of its kind."""
        for factor in sorted(set(UNITS[kind].values())):
            if factor != self.factor:
                yield replace(self, unit="", factor=factor)


def read(answer: object, kind: str) -> Quantity:
    """A quantity from a text, from (number, unit), or from a bare number where no unit is needed.

    >>> read("1.50 MFLOP", "FLOP").value, read((1.5, "MFLOP"), "FLOP").value
    (1500000.0, 1500000.0)
    >>> read("150 万", "FLOP").value
    1500000.0

    Args:
        kind: a key of units.UNITS.

    Raises:
        Unreadable: it is none, its unit is missing, unknown or of another kind, or it is so large
            or long that it cannot be meant.
    """
    text = _plain(_as_text(answer, kind))
    quantity, unit = _number(text)
    if _CALCULATION.match(unit):
        words = tr(
            "{text} looks like a calculation; write its result, or leave the quotes away and let "
            "Python compute it",
            text=shown(answer),
        )
        raise Unreadable(words)
    quantity = replace(quantity, unit=unit, factor=_factor(unit, kind))
    is_text = isinstance(answer[0] if isinstance(answer, tuple | list) else answer, str)
    # Zeros at the end of a number that is no text were not written by anybody.
    return quantity if is_text else replace(quantity, digits=max(quantity.digits, DIGITS_OF_FLOAT))


def shown(answer: object) -> str:
    """An answer as a message may repeat it: short, in one line, nothing that a terminal obeys."""
    text = answer if isinstance(answer, str) else _number_text(answer)
    text = "".join(sign if sign.isprintable() else "?" for sign in text.strip()[: MAX_TEXT + 1])
    return f'"{text[:MAX_TEXT]}…"' if len(text) > MAX_TEXT else f'"{text}"'


# --- units ----------------------------------------------------------------------------------------


def _asked_for(kind: str) -> dict[str, str]:
    """The fields of a message that says what is asked for."""
    return {"kind": name_of(kind), "example": example_of(kind)}


def _factor(unit: str, kind: str) -> Fraction:
    known = UNITS[kind]
    if unit in known:
        return known[unit]
    spelled = {factor for name, factor in known.items() if name.lower() == unit.lower()}
    if len(spelled) == 1:
        return spelled.pop()
    other = next((other for other, units in UNITS.items() if unit in units), None)
    if other is not None:
        words = tr(
            "{unit} measures {other}; {kind} is asked for, as in {example}",
            unit=shown(unit),
            other=name_of(other),
            **_asked_for(kind),
        )
        raise Unreadable(words)
    words = tr(
        "{unit} is no unit that is known here; {kind} is asked for, as in {example}",
        unit=shown(unit),
        **_asked_for(kind),
    )
    raise Unreadable(words)


# --- numbers --------------------------------------------------------------------------------------

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SIGNS = str.maketrans({"−": "-", "–": "-", "～": "~", "\u00b5": "µ"})
_ABOUT = re.compile(r"^(?:[≈≃~=]|about |approx(?:imately|\.)? |大?约为?)\s*")
_GROUPED = r"[0-9]{1,3}(?:[,_ ][0-9]{3})+(?![0-9])|[0-9]+"
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)(?P<whole>{_GROUPED})?(?:\.(?P<decimals>[0-9]*))?"
    r"(?:[eE](?P<power>[+-]?[0-9]+)|\s*[x×*·]\s*10\s*(?:\^|\*\*)\s*(?P<ten>[+-]?[0-9]+))?"
)
_CALCULATION = re.compile(r"[-+*/^x×·÷]+[(0-9]")
_CHINESE_TENS = {"万亿": 12, "亿": 8, "千万": 7, "百万": 6, "万": 4, "千": 3, "百": 2}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _number_text(value: object) -> str:
    """A number as Python writes it, also where writing all of it would take long."""
    if isinstance(value, int) and value.bit_length() > 4 * MAX_TEXT:
        return "9" * (MAX_TEXT + 1)
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if _is_number(value) else describe_type(value)


def _as_text(answer: Any, kind: str) -> str:
    """The answer as one text; a 0-d array is a number and (number, unit) is joined."""
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer.item()
    if isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], str):
        number, unit = answer
        is_readable = isinstance(number, str) or _is_number(number)
        return f"{_as_text(number, kind)} {unit}" if is_readable else ""
    if isinstance(answer, str):
        return answer
    if not _is_number(answer):
        words = tr(
            "got {got}; {kind} is asked for, as in {example}",
            got=describe_type(answer),
            **_asked_for(kind),
        )
        raise Unreadable(words)
    if not (isinstance(answer, int) or math.isfinite(answer)):
        raise Unreadable(tr("{text} is not a finite number", text=shown(answer)))
    return _number_text(answer)


def _plain(text: str) -> str:
    """The text in ASCII forms where there are any: fullwidth digits, superscripts, minus signs."""
    if len(text) > MAX_TEXT:
        words = tr(
            "an answer has at most {n} characters: a number and its unit, without the calculation",
            n=MAX_TEXT,
        )
        raise Unreadable(words)
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda m: "^" + m[0].translate(_SUPERSCRIPTS), text)
    text = unicodedata.normalize("NFKC", text.translate(_SIGNS)).strip().rstrip(".。 ")
    return _ABOUT.sub("", text)


def _number(text: str) -> tuple[Quantity, str]:
    """The number at the beginning of a text, and the rest of it without spaces."""
    found = _NUMBER.match(text)
    if found is None or not (found["whole"] or found["decimals"]):
        raise Unreadable(tr("{text} does not begin with a number", text=shown(text)))
    whole = re.sub("[,_ ]", "", found["whole"] or "")
    decimals = found["decimals"] or ""
    rest = text[found.end() :]
    if re.match(r",\s*[0-9]", rest) or re.match(r"0[0-9]*,", found["whole"] or ""):
        words = tr(
            "the comma in {text}: it separates thousands here, as in 12,345; write decimals with a "
            "point",
            text=shown(text),
        )
        raise Unreadable(words)
    power = int(found["power"] or found["ten"] or 0)
    unit = "".join(rest.split())
    for sign, tens in _CHINESE_TENS.items():
        if unit.startswith(sign):
            unit, power = unit[len(sign) :], power + tens
            break
    if abs(power) > MAX_EXPONENT or len(whole) > MAX_EXPONENT:
        raise Unreadable(tr("{text} is too large or too small to be meant", text=shown(text)))
    significant = (whole + decimals).lstrip("0")
    sure = significant.rstrip("0") if found["decimals"] is None else significant
    number = Fraction(int(whole + decimals)) * Fraction(10) ** (power - len(decimals))
    quantity = Quantity(
        number=-number if found["sign"] == "-" else number,
        first_place=len(significant) - len(decimals) - 1 + power,
        digits=max(len(significant), 1),
        sure_digits=max(len(sure), 1),
    )
    return quantity, unit
