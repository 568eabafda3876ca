"""Part 11's numbers: is this the answer? Asked of golden/answers.json, which tells only that.

The true value of a question and those of known mistakes are stored as digests of their places on a
logarithmic scale, so that nobody reads an answer by accident. They are no secret: whoever tries all
places finds them in a second, and would have computed the answer sooner.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from .compare import Mismatch
from .quantity import Quantity, Unreadable, read, shown
from .student import Student
from .units import name_of
from .words import Text, tr

ANSWERS_FILE = Path(__file__).parent.parent / "golden" / "answers.json"

# Relative error accepted however many digits are given, but for answers that are exact.
TOLERANCE = 1e-3
# Values closer than this to one another are one place; smaller than what digits can tell apart.
PLACE = 1e-4
CLOSE = 0.03  # a wrong answer within this is told so
# By which a wrong prefix or exponent is off.
POWERS = (10, 100, 1000, 1024, 1024**2, 10**6, 10**9, 10**12)


@dataclass(frozen=True)
class Question:
    """How an answer is judged.

    Attributes:
        kind: what is asked for, a key of units.UNITS.
        digits: significant digits that are asked for at least.
        answer: the digest of the true value's place.
        exactly: where the answer is exact, the digest of the value itself: no digit may be off.
        mistakes: names of known mistakes, by the digest of the place of what they give.
    """

    name: str
    kind: str
    digits: int
    answer: str
    exactly: str | None
    mistakes: dict[str, str]


@cache
def questions() -> dict[str, Question]:
    """All questions by the names of their functions."""
    return {name: Question(name, **fields) for name, fields in _content()["questions"].items()}


def explanation(mistake: str) -> str:
    """What a known mistake is told."""
    return Text(**_content()["mistakes"][mistake]).spoken


@cache
def _content() -> dict[str, Any]:
    return json.loads(ANSWERS_FILE.read_text(encoding="utf-8"))


def digest(name: str, value: int | Fraction | str) -> str:
    """What stands for one place in one question, or for one exact value."""
    return hashlib.sha256(f"{name} {value}".encode()).hexdigest()[:16]


def exact_digest(name: str, value: Fraction) -> str:
    """What stands for a value of which every digit counts."""
    return digest(name, f"exactly {value}")


def place_of(value: float) -> int:
    """Where a positive value lies on the scale."""
    return math.floor(math.log(value) / PLACE)


def check_answer(student: Student, name: str) -> None:
    """Fail unless the student's function gives the answer to the question of that name."""
    question = questions()[name]
    answer = getattr(student, name)()
    try:
        problem = what_is_wrong(question, answer)
    except Unreadable as unreadable:
        problem = str(unreadable)
    if problem is not None:
        raise Mismatch(f"{name}: {problem}")


def what_is_wrong(question: Question, answer: object) -> str | None:
    """None for a right answer; else what is wrong with it, as far as that can be known.

    Raises:
        Unreadable: it is no quantity of the kind that is asked for.
    """
    got = read(answer, question.kind)
    if question.exactly == exact_digest(question.name, got.number * got.factor):
        return None
    if question.answer in set(_digests_nearby(question, got)):
        return _not_exact(answer) if question.exactly else None
    if got.digits < question.digits:
        return _too_few_digits(question, got, answer)
    found = set(_digests(question, got))
    if question.answer in found:
        return _not_exact(answer) if question.exactly else None
    return _not_the_answer(answer, _explained(question, found) or _recognised(question, got))


def _digests(question: Question, got: Quantity) -> Iterator[str]:
    """Of every place that the answer covers: half a unit of its last digit to both sides."""
    half, tolerance = got.half_a_digit(question.digits), _tolerance(got)
    low = min(got.least(question.digits), got.value - tolerance)
    return _digests_between(question, low, got.value + max(half, tolerance))


def _digests_nearby(question: Question, got: Quantity) -> Iterator[str]:
    """The same, as if all further digits were 0."""
    half = _tolerance(got)
    return _digests_between(question, got.value - half, got.value + half)


def _tolerance(got: Quantity) -> float:
    return abs(got.value) * TOLERANCE


def _digests_between(question: Question, low: float, high: float) -> Iterator[str]:
    if low > 0:
        for place in range(place_of(low), place_of(high) + 1):
            yield digest(question.name, place)


def _too_few_digits(question: Question, got: Quantity, answer: object) -> str:
    is_right = question.answer in set(_digests(question, got))
    why = _explained(question, set(_digests_nearby(question, got)))
    if why or not is_right:
        return _not_the_answer(answer, why or _recognised(question, got))
    words = tr(
        "{answer} has too few significant digits: {n}, where {wanted} are asked for",
        answer=shown(answer),
        n=got.digits,
        wanted=question.digits,
    )
    return words + tr("\nit is right as far as it goes")


def _not_exact(answer: object) -> str:
    why = tr("near, but this answer is compared exactly: every digit counts, nothing is rounded")
    return _not_the_answer(answer, why)


def _not_the_answer(answer: object, why: str) -> str:
    return tr("{answer} is not the answer\n{why}", answer=shown(answer), why=why)


def _explained(question: Question, found: set[str]) -> str:
    """What is known of a mistake with this result, or ""."""
    names = [name for value, name in question.mistakes.items() if value in found]
    return explanation(names[0]) if names else ""


def _recognised(question: Question, got: Quantity) -> str:
    """What a number that no known mistake gives has in common with the answer."""

    def is_right(other: Quantity) -> bool:
        return question.answer in set(_digests(question, other))

    if got.value <= 0:
        return tr("the answer is more than 0")
    if any(is_right(other) for other in got.in_other_units(question.kind)):
        return tr("the number is right, its unit is not: {why}", why=_of_units(question.kind))
    for n in (2, 4, 8):
        if is_right(got.times(Fraction(n))):
            return tr("too small by a factor of {n}", n=n)
        if is_right(got.times(Fraction(1, n))):
            return tr("too large by a factor of {n}", n=n)
    if any(is_right(got.times(Fraction(*ratio))) for n in POWERS for ratio in ((n, 1), (1, n))):
        return tr("off by a power of ten or of 1024: look at the unit and at the exponent")
    near = _digests_between(question, got.value * (1 - CLOSE), got.value * (1 + CLOSE))
    if question.answer in set(near):
        return tr(
            "close, within 3 %: round once, at the end; or a small term is counted or left out"
        )
    return tr(
        "read as {value:.6g}; asked is {kind}; no known mistake gives this",
        value=got.value,
        kind=name_of(question.kind),
    )


def _of_units(kind: str) -> str:
    if kind == "bytes":
        return tr("K, M, G are powers of 1000 and Ki, Mi, Gi of 1024; a byte (B) is 8 bits (b)")
    return tr("K, M, G, T, P are powers of 1000, B is a billion")
