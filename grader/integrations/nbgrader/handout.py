"""The handout's text of each part, cut at its sections, for the markdown cells of a notebook."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from grader.authoring.skeleton import ASSIGNMENT

_SECTION = re.compile(r"^### (\d+\.\d+) .*$", re.M)
_NEXT_CHAPTER = re.compile(r"^## ", re.M)
_MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
_LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?:#[^)]*|[\w.]+\.(?:py|md)(?:#[^)]*)?)\)")


@dataclass(frozen=True)
class Handout:
    """A handout, and the words by which it is cut."""

    path: Path
    part: re.Pattern
    # How to run pytest is no use in a notebook: its own cells are the tests.
    test_it: re.Pattern
    mistakes: re.Pattern


def _test_it(words: str) -> re.Pattern:
    """The command, and behind it the line that leads to more of them."""
    return re.compile(rf"^\*\*{words}\*\*.*\n(\n.*[:：]\n\n```sh\n(.*\n)*?```\n)?", re.M)


HANDOUTS = {
    "en": Handout(
        ASSIGNMENT / "README.md",
        re.compile(r"^## Part (\d+): .*$", re.M),
        _test_it("Test it:"),
        re.compile(r"^\*\*Common mistakes", re.M),
    ),
    "zh": Handout(
        ASSIGNMENT / "README.zh.md",
        re.compile(r"^## 第 (\d+) 部分：.*$", re.M),
        _test_it("测试："),
        re.compile(r"^\*\*第 \d+ 部分的常见错误", re.M),
    ),
}


@dataclass(frozen=True)
class PartText:
    """One part of the handout.

    Attributes:
        opening: between the part's heading and its first section.
        sections: text of each section by its number, as "4.3"; a part may have none.
        closing: common mistakes and reading, behind the last section.
    """

    opening: str
    sections: dict[str, str] = field(default_factory=dict)
    closing: str = ""


def part_texts(language: str = "en") -> dict[int, PartText]:
    """The text of every part, by number.

    Raises:
        ValueError: the handout has no parts: it was rewritten in another form.
    """
    handout = HANDOUTS[language]
    text = handout.path.read_text(encoding="utf-8")
    found = list(handout.part.finditer(text))
    if not found:
        raise ValueError(f"{handout.path.name} has no heading {handout.part.pattern!r}")
    return {int(m[1]): _part_text(_chapter(text, m.start()), handout) for m in found}


def _chapter(handout: str, start: int) -> str:
    following = _NEXT_CHAPTER.search(handout, start + 3)
    return handout[start : following.start() if following else len(handout)]


def _part_text(chapter: str, handout: Handout) -> PartText:
    chapter = _for_a_notebook(handout.test_it.sub("", chapter))
    mistakes = handout.mistakes.search(chapter)
    end = mistakes.start() if mistakes else len(chapter)
    starts = list(_SECTION.finditer(chapter))
    bounds = [match.start() for match in starts] + [end]
    sections = {
        match[1]: chapter[match.start() : following].strip()
        for match, following in zip(starts, bounds[1:], strict=True)
    }
    _, _, opening = chapter[: bounds[0]].partition("\n")
    return PartText(opening.strip(), sections, chapter[end:].strip())


def _for_a_notebook(text: str) -> str:
    """GitHub's forms in Jupyter's: display formulas, and links into files that are not there."""
    text = _MATH.sub(r"$$\n\1$$", text)
    text = text.replace("](figures/", f"]({ASSIGNMENT.name}/figures/")  # the package lies beside it
    return _LOCAL_LINK.sub(r"\1", text)
