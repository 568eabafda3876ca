"""The two handouts of part 10: the same sections, commands and formulas, one for each stub."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assignment.harness.parts import TORCH_PART

ROOT = Path(__file__).parent.parent
ASSIGNMENT = ROOT / "assignment"
ENGLISH, CHINESE = ASSIGNMENT / "PART10.md", ASSIGNMENT / "PART10.zh.md"
SECTIONS = [f"## {TORCH_PART.section_of(name)} {name}" for name in TORCH_PART.functions]

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_DISPLAY = re.compile(r"\$\$.+?\$\$", re.DOTALL)
# What must be the same letter for letter: code, commands and formulas.
_FORMULA_OR_CODE = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`\n]+`", re.DOTALL)


def text_of(handout: Path) -> str:
    return handout.read_text(encoding="utf-8")


def headings(handout: Path) -> list[str]:
    lines = _FENCE.sub("", text_of(handout)).splitlines()
    return [line for line in lines if line.startswith("#")]


def chapters(handout: Path) -> list[str]:
    return re.split(r"^##+ ", _FENCE.sub("", text_of(handout)), flags=re.MULTILINE)


@pytest.fixture(params=[ENGLISH, CHINESE], ids=["en", "zh"])
def handout(request) -> Path:
    return request.param


def test_every_stub_has_its_section_and_no_section_is_left_over(handout):
    assert [line for line in headings(handout) if re.match(r"## 10\.\d", line)] == SECTIONS


def test_stubs_point_at_sections_that_are_there():
    """What `raise NotImplementedError("Part 10.1 ...: see PART10.md §10.1")` promises."""
    tree = ast.parse((ASSIGNMENT / "decode_torch.py").read_text(encoding="utf-8"))
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = {match[1] for text in texts if (match := re.match(r"Part (10\.\d+) ", text))}
    assert named == {line.split()[1] for line in SECTIONS}


def test_both_have_the_same_structure():
    levels = [[line.split()[0] for line in headings(path)] for path in (ENGLISH, CHINESE)]
    assert levels[0] == levels[1]
    assert _FENCE.findall(text_of(ENGLISH)) == _FENCE.findall(text_of(CHINESE))
    for one, other in zip(chapters(ENGLISH), chapters(CHINESE), strict=True):
        title = one.splitlines()[0]
        both = [text.replace("PART10.zh.md", "PART10.md") for text in (one, other)]
        found = [sorted(_FORMULA_OR_CODE.findall(text)) for text in both]
        assert set(found[0]) == set(found[1]), f"under {title!r}"
        items = [len(re.findall(r"^- ", text, re.MULTILINE)) for text in both]
        assert items[0] == items[1], f"items under {title!r}"


def test_both_name_the_same_numbers():
    """Points, contexts, milliseconds: none is left out or mistyped."""
    for one, other in zip(chapters(ENGLISH), chapters(CHINESE), strict=True):
        numbers = [
            set(re.findall(r"\d+(?:\.\d+)?", _FORMULA_OR_CODE.sub("", text)))
            for text in (one, other)
        ]
        # Chinese counts parts, tokens and steps in figures where English has words.
        assert numbers[0] - {"10"} <= numbers[1], one.splitlines()[0]


def test_the_chinese_is_chinese_and_links_the_english():
    paragraphs = [p for p in _FENCE.sub("", text_of(CHINESE)).split("\n\n") if len(p) > 60]
    paragraphs = [p for p in paragraphs if not _DISPLAY.fullmatch(p.strip())]
    assert [p for p in paragraphs if not re.search("[\u4e00-\u9fff]", p)] == []
    for here, there in ((ENGLISH, CHINESE), (CHINESE, ENGLISH)):
        assert f"]({there.name})" in "\n".join(text_of(here).splitlines()[:5])


def test_every_command_selects_tests():
    """All in one run of pytest's collection, each by its -k."""
    pytest.importorskip("torch", reason="torch is not installed")
    commands = sorted(set(re.findall(r"`(pytest assignment/ -k [^`]+)`", text_of(CHINESE))))
    assert len(commands) == len(SECTIONS)
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [*command, "--collect-only", "-q", "-k", "part10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r"::(test_\w+)", listed)
    for command in commands:
        wanted = shlex.split(command)[-1].removeprefix("part10 and ").strip("()").split(" or ")
        assert any(word in name for word in wanted for name in names), command
