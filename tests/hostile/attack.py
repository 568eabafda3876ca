"""What an entry of the corpus consists of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROPE = ("3",)


@dataclass(frozen=True)
class Place:
    """Where a builder hands in: the class folder, the solution's sources, the course's folder."""

    folder: Path
    solution: dict[str, str]
    course: Path


@dataclass(frozen=True)
class Attack:
    """One submission.

    Attributes:
        name: as in programs/*.toml, or the builder's.
        hopes: what it hopes for.
        full: sections ("3.1") or parts ("3") that keep all their points.
        some: sections or parts with the fraction of their points that may be left at most. A
            section that is in neither has no point.
        lost: names of tests that have no point, wherever they are.
        state: of the record; "graded or partial" where its budget may end before its tests.
        says: texts that stand in what the grader tells: reason, messages, notes, output.
        build: makes what is handed in and returns its path; None for a program.
    """

    name: str
    hopes: str
    full: tuple[str, ...] = ()
    some: dict[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    state: str = "graded"
    says: tuple[str, ...] = ()
    build: Callable[[Place], Path] | None = None
