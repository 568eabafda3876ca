"""What the bundle knows of the known bugs: texts, and prints of what each does in each test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .diagnosis import PASSED, UNKNOWN, Seen
from .words import Text

KNOWN_BUGS_FILE = Path(__file__).parent.parent / "golden" / "known_bugs.json"


@dataclass(frozen=True)
class KnownBug:
    """The texts of one bug."""

    name: str
    part: int
    summary: Text
    explanation: Text
    hints: tuple[Text, ...]
    cites: tuple[str, ...]


@cache
def _content() -> dict:
    return json.loads(KNOWN_BUGS_FILE.read_text(encoding="utf-8"))


@cache
def known_bugs() -> dict[str, KnownBug]:
    """The catalogue by name."""
    return {
        entry["name"]: KnownBug(
            name=entry["name"],
            part=entry["part"],
            summary=Text(**entry["summary"]),
            explanation=Text(**entry["explanation"]),
            hints=tuple(Text(**hint) for hint in entry["hints"]),
            cites=tuple(entry["cites"]),
        )
        for entry in _content()["bugs"]
    }


class StoredSignatures:
    """What single bugs do in the public tests; sets of bugs were not computed."""

    def reaches(self, test: str) -> frozenset[int]:
        # A hidden test calls what its public twin does.
        return frozenset(_content()["reached"].get(test.replace("[hidden", "[public"), ()))

    def reached_by(self, part: int) -> frozenset[int]:
        """The parts whose functions run in a part's tests."""
        of_part = f"test_part{part}_"
        reached = _content()["reached"].items()
        return frozenset(p for test, parts in reached if test.startswith(of_part) for p in parts)

    def tests_of(self, part: int) -> frozenset[str]:
        return _compared_tests().get(part, frozenset())

    def bugs_of(self, part: int) -> tuple[str, ...]:
        return tuple(bug.name for bug in known_bugs().values() if bug.part == part)

    def seen(self, test: str, bugs: tuple[str, ...]) -> Seen:
        of_test = _content()["signatures"].get(test)
        if of_test is None:
            return UNKNOWN
        failing = [of_test[name] for name in bugs if name in of_test]
        if not failing:
            return PASSED
        if len(failing) > 1:
            return UNKNOWN
        return as_seen(failing[0])


@cache
def _compared_tests() -> dict[int, frozenset[str]]:
    return {int(part): frozenset(tests) for part, tests in _content()["compared"].items()}


def as_seen(stored: str | list[float]) -> Seen:
    """One outcome as the file holds it."""
    return stored if isinstance(stored, str) else tuple(stored)
