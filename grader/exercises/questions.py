"""Every question, in the order of the functions of part 11."""

from __future__ import annotations

from functools import cache

from .day3 import QUESTIONS as DAY_3
from .lecture2 import QUESTIONS as LECTURE_2
from .question import NumericQuestion


@cache
def all_questions() -> tuple[NumericQuestion, ...]:
    """Lecture 2's, then Day 3's."""
    return (*LECTURE_2, *DAY_3)
