"""Marks on the tests: which section they grade and what they are worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from .words import spoken


@dataclass(frozen=True)
class Grading:
    """What a test is worth, and where in the handout its function stands.

    Attributes:
        title: in English, as records keep it.
        variant: the parameters of a test that runs several times, as in "float32".
    """

    section: str
    points: float
    title: str
    variant: str = ""

    @property
    def part(self) -> int:
        return int(self.section.split(".")[0])

    @property
    def spoken_title(self) -> str:
        """The title in the language of messages."""
        return spoken(self.title) + (f" ({self.variant})" if self.variant else "")


def graded(section: str, points: float) -> Callable:
    """Mark a test as worth `points` for handout section `section`, as in graded("4.3", 2)."""
    return pytest.mark.graded(section, points)


def grading_of(item: pytest.Item) -> Grading | None:
    """The marks of a collected test; its title is the first line of its docstring."""
    mark = item.get_closest_marker("graded")
    if mark is None:
        return None
    section, points = mark.args
    docstring = getattr(getattr(item, "obj", None), "__doc__", None) or item.name
    title = docstring.strip().splitlines()[0].rstrip(".")
    return Grading(section, points, title, _variant(item))


def _variant(item: pytest.Item) -> str:
    """The parameters of a test that runs several times, but for the set of cases."""
    if not hasattr(item, "callspec"):
        return ""
    return ", ".join(str(value) for name, value in item.callspec.params.items() if name != "oracle")
