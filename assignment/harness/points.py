"""Marks on the tests: which section they grade, what they are worth, and beside what they pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pytest

from .words import spoken, tr

Names = str | tuple[str, ...]


@dataclass(frozen=True)
class Grading:
    """What a test is worth, and where in the handout its function stands.

    Attributes:
        title: in English, as records keep it.
        variant: the parameters of a test that runs several times, as in "float32".
        needs: names of tests that must all be right, in every variant, for this one to pay.
        beside: names of tests of which one must be right, in any variant, for this one to pay.
    """

    section: str
    points: float
    title: str
    variant: str = ""
    needs: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def part(self) -> int:
        return int(self.section.split(".")[0])

    @property
    def spoken_title(self) -> str:
        """The title in the language of messages."""
        return spoken(self.title) + (f" ({self.variant})" if self.variant else "")


def graded(
    section: str, points: float, *, needs: Names = (), beside: Names = (), once: bool = False
) -> Callable:
    """Mark a test as worth `points` for handout section `section`, as in graded("4.3", 2).

    Args:
        needs: tests without which this one says nothing, by the names of their functions: it pays
            only where all of them are right.
        beside: tests that compare with an oracle, where this one compares a submission with itself:
            it pays only where at least one of them is right.
        once: the points are for the public and the hidden cases together. The hidden ones have none
            of their own; as everywhere, public ones pay only where they are right.
    """
    others = {"needs": _as_tuple(needs), "beside": _as_tuple(beside)}
    return pytest.mark.graded(section, points, once=once, **others)


def grading_of(item: pytest.Item) -> Grading | None:
    """The marks of a collected test; its title is the first line of its docstring."""
    mark = item.get_closest_marker("graded")
    if mark is None:
        return None
    section, points = mark.args
    marked = dict(mark.kwargs)
    if marked.pop("once") and _case_set(item) == "hidden":
        points = 0
    docstring = getattr(getattr(item, "obj", None), "__doc__", None) or item.name
    title = docstring.strip().splitlines()[0].rstrip(".")
    return Grading(section, points, title, _variant(item), **marked)


def _as_tuple(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _case_set(item: pytest.Item) -> str:
    return item.callspec.params.get("oracle", "") if hasattr(item, "callspec") else ""


def _variant(item: pytest.Item) -> str:
    """The parameters of a test that runs several times, but for the set of cases."""
    if not hasattr(item, "callspec"):
        return ""
    return ", ".join(str(value) for name, value in item.callspec.params.items() if name != "oracle")


# --- points that hang on another test -----------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """A test that ran, as far as the points of others hang on it.

    Attributes:
        test: an id that ends in the test's name, as pytest's.
        trusted: in grading: parts of which it needs trusted versions to pass.
    """

    test: str
    grading: Grading
    passed: bool
    trusted: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        return self.test.rpartition("::")[2].partition("[")[0]


def hanging(ran: Iterable[Ran]) -> dict[str, Ran]:
    """Tests that pay nothing until another is right, by id, each with that other one.

    These are tests that passed, and those on which others hang where they failed for the same
    reason as one before them. A test that was not run has nothing hang on it: at home one runs
    what one works on.
    """
    by_name: dict[str, list[Ran]] = {}
    for one in ran:
        by_name.setdefault(one.name, []).append(one)
    needed = {name for several in by_name.values() for name in several[0].grading.needs}
    found: dict[str, Ran] = {}
    earlier: dict[str, list[Ran]] = {}
    for name, several in by_name.items():
        for one in several:
            if one.passed or name in needed:
                lacking = _first_lacking(one, by_name if one.passed else earlier)
                found |= {one.test: lacking} if lacking is not None else {}
        earlier[name] = several
    return found


def _first_lacking(test: Ran, by_name: dict[str, list[Ran]]) -> Ran | None:
    for name in test.grading.needs:
        for one in by_name.get(name, ()):
            # A trusted version of its part does what the needed test asks.
            if not one.passed and one.grading.part not in test.trusted:
                return one
    others = [one for name in test.grading.beside for one in by_name.get(name, ())]
    return others[0] if others and not any(one.passed for one in others) else None


def until_right(needed: Ran) -> str:
    """What is said of a test that hangs on another one."""
    grading = needed.grading
    return tr(
        "0 points until {section} is right: {title}",
        section=grading.section,
        title=grading.spoken_title,
    )
