"""The handout keeps its promises: sections, commands, links, numbers, and no solution in it."""

from __future__ import annotations

import ast
import doctest
import json
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from assignment.harness.parts import GIVEN_FILES, PARTS, Part

ROOT = Path(__file__).parent.parent
ASSIGNMENT = ROOT / "assignment"
HANDOUT = ASSIGNMENT / "README.md"
TEXT = HANDOUT.read_text(encoding="utf-8")
LINES = TEXT.splitlines()

LONG_ENOUGH_TO_GIVE_AWAY = 25
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"pytest assignment/[^`#\n]*")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

SECTIONS = [(part.section_of(name), name) for part in PARTS for name in part.functions]
PROSE = _BLOCK.sub("", TEXT)
# Hints run no test; tests/test_known_bugs.py tries them.
COMMANDS = sorted({c.strip() for c in _COMMAND.findall(TEXT) if "--hint" not in c})


def part_text(part: Part) -> str:
    """The handout from a part's heading to the next heading of the same level."""
    start = TEXT.index(f"\n## Part {part.number}: {part.title}\n")
    return TEXT[start : TEXT.index("\n## ", start + 1)]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_every_part_has_its_heading_and_test_command(part):
    assert f"\n**Test it:** `pytest assignment/ -k part{part.number}`\n" in part_text(part)


@pytest.mark.parametrize("section, function", SECTIONS, ids=lambda value: str(value))
def test_every_function_has_a_section_in_its_part(section, function):
    part = PARTS[int(section.partition(".")[0]) - 1]
    assert f"\n### {section} {function}\n" in part_text(part)


def test_no_section_is_left_over():
    """A renumbered or renamed function leaves no old section behind."""
    headings = [line.removeprefix("### ") for line in LINES if line.startswith("### ")]
    assert headings == [f"{section} {function}" for section, function in SECTIONS]


def test_points_and_files_are_those_of_the_tests():
    """The table at the top repeats what the report prints."""
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"]
    report = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    ).stdout
    for part in PARTS:
        line = next(line for line in report.splitlines() if line.startswith(f"Part {part.number} "))
        points = re.search(r"/ (\S+)", line)[1]
        row = rf"\| {part.number} \| \[{re.escape(part.title)}\]\(\S+\) \| \[`{part.module}\.py`\]"
        assert re.search(rf"^{row}\(\S+\) \| {points} \|$", TEXT, re.MULTILINE), line


def test_every_given_file_is_named():
    rules = TEXT[TEXT.index("\n## Rules\n") : TEXT.index("\n## Notation\n")]
    assert [name for name in GIVEN_FILES if f"`{name}`" not in rules] == []


# Runs pytest's collection once for each list of arguments on stdin and prints the ids it selected.
_COLLECT = """
import json, sys, pytest

class Collected:
    def pytest_collection_finish(self, session):
        self.ids = [item.nodeid for item in session.items]

answers = []
for arguments in json.load(sys.stdin):
    collected = Collected()
    collected.ids = []
    quiet = ["--collect-only", "-q", "-p", "no:cacheprovider"]
    pytest.main([*quiet, *arguments], plugins=[collected])
    answers.append(collected.ids)
print(json.dumps(answers))
"""


@cache
def selections() -> dict[str, list[str]]:
    """For each command of the handout, the ids of the tests it selects."""
    arguments = [[a for a in shlex.split(command)[1:] if a != "-v"] for command in COMMANDS]
    # In a process of its own: the homework's plugin changes hypothesis' settings.
    result = subprocess.run(
        [sys.executable, "-c", _COLLECT],
        input=json.dumps(arguments),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(COMMANDS, json.loads(result.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_selects_tests(command):
    assert selections()[command], f"`{command}` selects no test"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_commands_of_a_part_select_its_tests_only(part):
    file = f"assignment/test_part{part.number}_"
    commands = {command.strip() for command in _COMMAND.findall(part_text(part))}
    for command in commands:
        others = [test for test in selections()[command] if not test.startswith(file)]
        assert others == [], f"`{command}` also selects {others[0]}"
    whole = set(selections()[f"pytest assignment/ -k part{part.number}"])
    assert whole == {test for test in selections()["pytest assignment/"] if test.startswith(file)}


def slug(heading: str) -> str:
    """GitHub's anchor of a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def test_every_relative_link_resolves():
    anchors = {slug(line.lstrip("#").strip()) for line in LINES if line.startswith("#")}
    targets = [link for link in _LINK.findall(PROSE) if not link.startswith("https://")]
    assert targets
    broken = []
    for target in targets:
        path, _, anchor = target.partition("#")
        # A student has the folder assignment/ only, so a link may not lead out of it.
        inside = (ASSIGNMENT / path).resolve().is_relative_to(ASSIGNMENT.resolve())
        if not (inside and (ASSIGNMENT / path).exists()) or (anchor and anchor not in anchors):
            broken.append(target)
    assert broken == []


@cache
def examples() -> doctest.DocTest:
    """The Python sessions of the handout as one doctest, run against the solution."""
    # Blank what is no session, so that line numbers in a failure are the handout's.
    kept = ["" for _ in LINES]
    for match in _BLOCK.finditer(TEXT):
        if match[1] == "python":
            first = TEXT[: match.start()].count("\n") + 1
            for offset, line in enumerate(match[2].splitlines()):
                kept[first + offset] = line
    source = "\n".join(kept).replace("from assignment.", "from solution.")
    return doctest.DocTestParser().get_doctest(source, {}, "handout", str(HANDOUT), 0)


def test_every_worked_number_is_true():
    problems: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(examples(), out=problems.append)
    assert results.attempted >= 40
    assert results.failed == 0, "".join(problems)


def test_every_part_has_a_worked_example():
    assert [part.number for part in PARTS if ">>> " not in part_text(part)] == []


def test_examples_need_only_numpy_and_the_homework():
    modules = set()
    for example in examples().examples:
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module)
    assert modules == {"numpy"} | {f"solution.{part.module}" for part in PARTS}


def solution_lines() -> set[str]:
    """Lines between the solution markers that are long enough to give something away."""
    lines = set()
    for file in sorted((ROOT / "solution").glob("*.py")):
        inside = False
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip() in ("### BEGIN SOLUTION", "### END SOLUTION"):
                inside = "BEGIN" in line
            elif inside and len(line.strip()) > LONG_ENOUGH_TO_GIVE_AWAY:
                lines.add(line.strip())
    return lines


def test_no_solution_line_is_in_the_handout():
    lines = solution_lines()
    assert len(lines) > 50
    assert sorted(line for line in lines if line in TEXT) == []
