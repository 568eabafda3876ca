"""What the course knows of a question: its true value, and values that tell what went wrong."""

from __future__ import annotations

from dataclasses import dataclass

from grader.known_bugs.bug import Text

Shape = tuple[int, int]


@dataclass(frozen=True)
class Mistake:
    """A wrong value, and the mistake that gives it."""

    value: float | Shape
    why: Text


@dataclass(frozen=True)
class NumericQuestion:
    """One function of part 11.

    Attributes:
        name: of the function, as in "l2_1_parameters".
        kind: what is asked for, a key of assignment.harness.quantity.UNITS, or SHAPE.
        value: true value in the kind's base unit (bytes, FLOPs, 1), or rows and columns.
        printed: the answer as the course document prints it; it has to be accepted.
        digits: significant digits that are asked for at least.
        exact: all digits that are given have to be right; else an error of 1e-3 is none.
    """

    name: str
    kind: str
    value: float | Shape
    printed: str
    digits: int = 3
    exact: bool = False
    mistakes: tuple[Mistake, ...] = ()
