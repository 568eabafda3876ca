"""What the course knows of a question: its true value, and values that tell what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assignment.harness.words import Text

Shape = tuple[int, int]


class Values(NamedTuple):
    """What is computed for one question.

    Attributes:
        true: in the kind's base unit (bytes, FLOPs, 1), or rows and columns.
        mistakes: names in mistakes.toml, and the wrong values they give.
    """

    true: float | Shape
    mistakes: Sequence[tuple[str, float | Shape]]


@dataclass(frozen=True)
class Mistake:
    """A wrong value, and the mistake that gives it."""

    value: float | Shape
    why: Text


@dataclass(frozen=True)
class NumericQuestion:
    """One function of part 11: an entry of questions.toml, which says what the fields mean.

    Attributes:
        name: of the function, as in "l2_1_parameters".
        value: the true value, see Values.
    """

    name: str
    kind: str
    value: float | Shape
    printed: str
    digits: int = 3
    exact: bool = False
    mistakes: tuple[Mistake, ...] = ()
