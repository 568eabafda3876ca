"""What the course knows of an exercise: its answer, and what known mistakes give in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Formula(NamedTuple):
    """An exercise whose answer is a function of sizes.

    Attributes:
        answer: the reference's, by the names of the student's arguments: a number, a list of sizes
            for a shape, or lists by name.
        mistakes: names in mistakes.toml, and the wrong functions.
    """

    answer: Callable[..., Any]
    mistakes: Mapping[str, Callable[..., Any]]


class Values(NamedTuple):
    """What is computed for one question that a number answers.

    Attributes:
        true: in the kind's base unit.
        mistakes: names in mistakes.toml, and the wrong values they give.
    """

    true: float
    mistakes: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class NumericQuestion:
    """A function of part 11 without arguments: an entry of questions.toml, see there.

    Attributes:
        name: of the function, as in "l2_3_einsum_flops".
        value: the true value.
        mistakes: names in mistakes.toml, and the wrong values they give.
    """

    name: str
    kind: str
    value: float
    printed: str
    digits: int = 3
    exact: bool = False
    mistakes: tuple[tuple[str, float], ...] = ()
