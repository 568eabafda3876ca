"""Hints on demand: `pytest assignment/ --hint rope`, three levels, never the solution."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from .known_bugs import known_bugs
from .parts import PARTS, Part
from .words import Text, spoken, tr, wrap

HINTS_FILE = Path(__file__).with_suffix(".toml")
LEVELS = 3


@cache
def part_hints() -> dict[int, tuple[Text, ...]]:
    """For each part its hints, from hints.toml."""
    content = tomllib.loads(HINTS_FILE.read_text(encoding="utf-8"))
    return {
        part.number: tuple(Text(**texts) for texts in content[f"part{part.number}"])
        for part in PARTS
    }


def hint(topic: str) -> str:
    """The hint asked for by `TOPIC` or `TOPIC:LEVEL`, or what one can ask for."""
    name, _, level_text = topic.partition(":")
    title, texts = hints_on(name.strip().lower())
    if not texts:
        return _what_there_is(name)
    if level_text not in ("", "1", "2", "3"):
        return tr(
            "There is no hint {level} on {name}: levels are 1 to {levels}, as in --hint {name}:2",
            level=level_text,
            name=name,
            levels=LEVELS,
        )
    level = int(level_text or 1)
    lines = [
        tr("{title}, hint {level} of {levels}", title=title, level=level, levels=LEVELS),
        "",
        *wrap(texts[level - 1].spoken, 96),
    ]
    if level < LEVELS:
        more = tr("more: pytest assignment/ --hint {name}:{level}", name=name, level=level + 1)
        lines += ["", more]
    return "\n".join(lines)


def hints_on(name: str) -> tuple[str, tuple[Text, ...]]:
    """Title and the three hints of a bug, a part, a module or a function."""
    if name in known_bugs():
        return name, known_bugs()[name].hints
    part = next((part for part in PARTS if name in _names(part)), None)
    # An exercise of part 11 has several functions, which begin with its name: l2_1, d3_3.
    part = part or next((part for part in PARTS if _begins_a_function(name, part)), None)
    if part is None:
        return "", ()
    title = tr("Part {part}, {title}", part=part.number, title=spoken(part.title))
    if name in {function.lower() for function in part.functions}:
        title += tr(" (hints are on the part; {name} has none of its own)", name=name)
    return title, part_hints()[part.number]


def _begins_a_function(name: str, part: Part) -> bool:
    return any(function.lower().startswith(f"{name}_") for function in part.functions)


def _names(part: Part) -> set[str]:
    functions = {function.lower() for function in part.functions}
    sections = {part.section_of(function) for function in part.functions}
    # attention.py holds two parts: its name stands for the first.
    module = {part.module} if part.number != 2 else {"heads", "mask"}
    return {str(part.number), f"part{part.number}"} | functions | sections | module


def _what_there_is(name: str) -> str:
    parts = ", ".join(f"part{part.number} ({part.module})" for part in PARTS)
    close = sorted(bug for bug in known_bugs() if name and name in bug)[:8]
    more = tr("\nBugs with this in their name: {bugs}", bugs=", ".join(close)) if close else ""
    return tr(
        "There is no hint on {name!r}. There are hints on {parts}, each function, and bugs.{more}",
        name=name,
        parts=parts,
        more=more,
    )
