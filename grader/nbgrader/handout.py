"""The handout's text of each part, cut at its sections, for the markdown cells of a notebook."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from grader.skeleton import ASSIGNMENT

HANDOUT = ASSIGNMENT / "README.md"
_PART = re.compile(r"^## Part (\d+): .*$", re.M)
_SECTION = re.compile(r"^### (\d+\.\d+) .*$", re.M)
_NEXT_CHAPTER = re.compile(r"^## ", re.M)
# How to run pytest is no use in a notebook: its own cells are the tests.
_TEST_IT = re.compile(
    r"^\*\*Test it:\*\*.*\n(\nOne function at a time:\n\n```sh\n(.*\n)*?```\n)?", re.M
)
_MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
_LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?:#[^)]*|[\w.]+\.py)\)")


@dataclass(frozen=True)
class PartText:
    """One part of the handout.

    Attributes:
        opening: between the part's heading and its first section.
        sections: text of each section by its number, as "4.3".
        closing: common mistakes and reading, behind the last section.
    """

    opening: str
    sections: dict[str, str] = field(default_factory=dict)
    closing: str = ""


def part_texts() -> dict[int, PartText]:
    """The text of every part, by number.

    Raises:
        ValueError: the handout has no parts: it was rewritten in another form.
    """
    handout = HANDOUT.read_text(encoding="utf-8")
    found = list(_PART.finditer(handout))
    if not found:
        raise ValueError(f"{HANDOUT.name} has no heading of the form '## Part 1: …'")
    return {int(match[1]): _part_text(_chapter(handout, match.start())) for match in found}


def _chapter(handout: str, start: int) -> str:
    following = _NEXT_CHAPTER.search(handout, start + 3)
    return handout[start : following.start() if following else len(handout)]


def _part_text(chapter: str) -> PartText:
    chapter = _for_a_notebook(chapter)
    starts = list(_SECTION.finditer(chapter))
    ends = [match.start() for match in starts[1:]] + [len(chapter)]
    sections = {
        match[1]: chapter[match.start() : end].strip()
        for match, end in zip(starts, ends, strict=True)
    }
    last = starts[-1][1]
    sections[last], mistakes, closing = sections[last].partition("**Common mistakes")
    sections[last] = sections[last].strip()
    _, _, opening = chapter[: starts[0].start()].partition("\n")
    return PartText(opening.strip(), sections, mistakes + closing)


def _for_a_notebook(text: str) -> str:
    """GitHub's forms in Jupyter's: display formulas, and links into files that are not there."""
    text = _TEST_IT.sub("", text)
    text = _MATH.sub(r"$$\n\1$$", text)
    text = text.replace("](figures/", f"]({ASSIGNMENT.name}/figures/")  # the package lies beside it
    return _LOCAL_LINK.sub(r"\1", text)
