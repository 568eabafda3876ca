"""The handout keeps its promises: sections, commands, links, numbers, and no solution in it.

There are two, English and Chinese, with the same content; each is held to all of this. So is the
companion beside it, as far as it has such things.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

from assignment.harness.parts import GIVEN_FILES, PART_BY_NUMBER, PARTS, Part
from assignment.harness.words import DICTIONARY
from grader.authoring import figures
from grader.integrations.nbgrader.handout import part_texts

ROOT = Path(__file__).parent.parent
ASSIGNMENT = ROOT / "assignment"

LONG_ENOUGH_TO_GIVE_AWAY = 25
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"pytest assignment/[^`#\n]*")
_FORMULA = re.compile(r"\$[^$\n]+\$")
_IMAGE = re.compile(r"^!\[([^\]]+)\]\(([^)\s]+)\)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

# What an exercise asks is in its docstring alone; tests/test_exercises.py holds the table of them.
IN_SECTIONS = [part for part in PARTS if part.module != "exercises"]
SECTIONS = [(part.section_of(name), name) for part in IN_SECTIONS for name in part.functions]
WORDS = 10_000  # of the English handout, as `wc -w` counts
SIGNS = 40_000  # of the Chinese one


@dataclass(frozen=True)
class Page:
    """A text for students in one language."""

    language: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def blocks(self) -> list[tuple[str, str]]:
        """Language and text of every fenced block."""
        return _BLOCK.findall(self.text)

    @cached_property
    def prose(self) -> str:
        return _BLOCK.sub("", self.text)

    @cached_property
    def headings(self) -> list[str]:
        return [line for line in self.prose.splitlines() if line.startswith("#")]


@dataclass(frozen=True)
class Handout(Page):
    """The handout, and the words that it has for what every part must have."""

    part_heading: str
    titles: tuple[str, ...]
    test_it: str
    what_a_part_has: tuple[str, ...]
    rules: str
    notation: str

    def mistakes(self, part: Part) -> str:
        words = {"en": "**Common mistakes in Part {}", "zh": "**第 {} 部分的常见错误"}
        return words[self.language].format(part.number)

    def part(self, part: Part) -> str:
        """From a part's heading to the next heading of the same level."""
        heading = self.part_heading.format(part.number, self.titles[PARTS.index(part)])
        start = self.text.index(f"\n{heading}\n")
        return self.text[start : self.text.index("\n## ", start + 1)]


ENGLISH = Handout(
    language="en",
    path=ASSIGNMENT / "README.md",
    part_heading="## Part {}: {}",
    titles=tuple(part.title for part in PARTS),
    test_it="**Test it:**",
    what_a_part_has=("**The idea.**", "**By hand**", "**The task.**"),
    rules="## Rules",
    notation="## Notation",
)
IN_CHINESE = Handout(
    language="zh",
    path=ASSIGNMENT / "README.zh.md",
    part_heading="## 第 {} 部分：{}",
    titles=tuple(DICTIONARY.chinese[part.title] for part in PARTS),
    test_it="**测试：**",
    what_a_part_has=("**想法。**", "**手算**", "**任务。**"),
    rules="## 规则",
    notation="## 记号",
)
HANDOUTS = (ENGLISH, IN_CHINESE)
COMPANIONS = (
    Page("en", ASSIGNMENT / "COMPANION.md"),
    Page("zh", ASSIGNMENT / "COMPANION.zh.md"),
)
PAIRS = (HANDOUTS, COMPANIONS)

# Hints run no test; tests/test_known_bugs.py tries them.
COMMANDS = sorted({c.strip() for c in _COMMAND.findall(ENGLISH.text) if "--hint" not in c})


@pytest.fixture(params=HANDOUTS, ids=lambda handout: handout.language)
def handout(request) -> Handout:
    return request.param


@pytest.fixture(params=[page for pair in PAIRS for page in pair], ids=lambda page: page.path.name)
def page(request) -> Page:
    return request.param


@pytest.fixture(params=PAIRS, ids=("handout", "companion"))
def pair(request) -> tuple[Page, Page]:
    return request.param


def test_the_handout_is_short():
    assert len(ENGLISH.text.split()) <= WORDS
    assert len(IN_CHINESE.text) <= SIGNS


def test_both_have_the_same_headings_in_the_same_order(pair):
    """Levels, and word for word what is no prose: the functions."""
    levels = [[len(line.split()[0]) for line in page.headings] for page in pair]
    assert levels[0] == levels[1]
    functions = [[h for h in handout.headings if h.startswith("### ")] for handout in HANDOUTS]
    assert functions[0] == functions[1]


def code(block: str) -> list[str]:
    """A shell block's commands without the remarks behind them."""
    return [line.partition("  #")[0].rstrip() for line in block.splitlines()]


def with_chinese_words(formula: str) -> str:
    """What stands between two formulas of one display is prose; all else is the same."""
    return formula.replace(r"\text{and}", r"\text{以及}")


def test_both_have_the_same_code_in_the_same_order():
    """Sessions and formulas to the letter; commands but for the remarks behind them."""
    english, chinese = ENGLISH.blocks, IN_CHINESE.blocks
    assert [language for language, _ in english] == [language for language, _ in chinese]
    for (language, one), (_, other) in zip(english, chinese, strict=True):
        if language == "sh":
            assert code(one) == code(other)
        elif language != "text":
            assert with_chinese_words(one) == other


def test_both_have_the_same_commands():
    commands = [sorted(c.strip() for c in _COMMAND.findall(h.text)) for h in HANDOUTS]
    assert commands[0] == commands[1]


def chapters(page: Page) -> list[str]:
    return re.split(r"^##+ ", page.prose, flags=re.MULTILINE)


def test_both_say_as_much_under_every_heading(pair):
    """Formulas, tables, list items, figures and links in each chapter: none is left out."""
    patterns = {
        "formula": _FORMULA,
        "row of a table": re.compile(r"^\|", re.MULTILINE),
        "item": re.compile(r"^(?:- |\d+\. )", re.MULTILINE),
        "figure": _IMAGE,
        "web page": re.compile(r"https://\S+?(?=\))"),
    }
    for one, other in zip(*map(chapters, pair), strict=True):
        for what, pattern in patterns.items():
            found = [len(pattern.findall(text)) for text in (one, other)]
            assert found[0] == found[1], f"{what} under {one.splitlines()[0]}"


def test_the_other_language_is_linked(pair):
    for page, other in (pair, pair[::-1]):
        assert f"]({other.path.name})" in "\n".join(page.lines[:5])


def test_the_handout_and_its_companion_link_each_other():
    for handout, companion in zip(HANDOUTS, COMPANIONS, strict=True):
        assert f"]({companion.path.name})" in "\n".join(handout.lines[:15])
        assert f"]({handout.path.name})" in "\n".join(companion.lines[:5])


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_the_companion_says_what_to_read_for_a_part(part):
    for companion in COMPANIONS:
        assert re.search(rf"^\| {part.number} \|.*\bL2 §", companion.text, re.MULTILINE)


def test_the_chinese_is_chinese(pair):
    """No paragraph was left as it was."""
    paragraphs = [p for p in pair[1].prose.split("\n\n") if len(p) > 60]
    assert [p for p in paragraphs if not re.search("[\u4e00-\u9fff]", p)] == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_every_part_has_its_heading_and_test_command(handout, part):
    line = f"\n{handout.test_it} `pytest assignment/ -k part{part.number}`\n"
    assert line in handout.part(part)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_every_part_has_idea_formula_example_task_and_mistakes(handout, part):
    text = handout.part(part).replace(".**", "**").replace("。**", "**")
    wanted = [words.replace(".**", "**").replace("。**", "**") for words in handout.what_a_part_has]
    assert [words for words in wanted if words not in text] == []
    assert "```math" in text
    assert re.search(_IMAGE, text)
    mistakes = text.index(handout.mistakes(part))
    assert text[mistakes:].count("\n- ") >= 4


@pytest.mark.parametrize("section, function", SECTIONS, ids=lambda value: str(value))
def test_every_function_has_a_section_in_its_part(handout, section, function):
    part = PART_BY_NUMBER[int(section.partition(".")[0])]
    assert f"\n### {section} {function}\n" in handout.part(part)


def test_no_section_is_left_over(handout):
    """A renumbered or renamed function leaves no old section behind."""
    headings = [h.removeprefix("### ") for h in handout.headings if h.startswith("### ")]
    assert headings == [f"{section} {function}" for section, function in SECTIONS]


@cache
def points_of_parts() -> dict[int, str]:
    """What the report prints."""
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"]
    report = subprocess.run(
        [*command, "--lang", "en"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    ).stdout
    return {int(n): points for n, points in re.findall(r"^Part (\d+) .* / (\S+)", report, re.M)}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_points_and_files_are_those_of_the_tests(handout, part):
    """The table at the top repeats what the report prints."""
    title = re.escape(handout.titles[PARTS.index(part)])
    row = rf"\| {part.number} \| \[{title}\]\(\S+\) \| \[`{part.module}\.py`\]\(\S+\)"
    points = points_of_parts()[part.number]
    assert re.search(rf"^{row} \| {points} \|$", handout.text, re.MULTILINE), points


def test_every_given_file_is_named(handout):
    start = handout.text.index(f"\n{handout.rules}\n")
    rules = handout.text[start : handout.text.index(f"\n{handout.notation}\n")]
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


@pytest.fixture(scope="module")
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
def test_every_command_selects_tests(command, selections):
    assert selections[command], f"`{command}` selects no test"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_commands_of_a_part_select_its_tests_only(part, selections):
    file = f"assignment/test_part{part.number}_"
    commands = {command.strip() for command in _COMMAND.findall(ENGLISH.part(part))}
    for command in commands:
        others = [test for test in selections[command] if not test.startswith(file)]
        assert others == [], f"`{command}` also selects {others[0]}"
    whole = set(selections[f"pytest assignment/ -k part{part.number}"])
    assert whole == {test for test in selections["pytest assignment/"] if test.startswith(file)}


def slug(heading: str) -> str:
    """GitHub's anchor of a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def test_every_relative_link_resolves(page):
    targets = [link for link in _LINK.findall(page.prose) if not link.startswith("https://")]
    assert targets
    broken = []
    for target in targets:
        path, _, anchor = target.partition("#")
        # A student has the folder assignment/ only, so a link may not lead out of it.
        there = (ASSIGNMENT / (path or page.path.name)).resolve()
        inside = there.is_relative_to(ASSIGNMENT.resolve()) and there.exists()
        if not inside or (anchor and anchor not in anchors(there)):
            broken.append(target)
    assert broken == []


def anchors(path: Path) -> set[str]:
    if path.suffix == ".svg":
        return set(re.findall(r'id="(\w+)"', path.read_text(encoding="utf-8")))
    return {slug(line.lstrip("#").strip()) for line in Page("", path).headings}


def test_figures_are_the_projects_and_all_are_shown(handout):
    assert figures.stale_figures() == []
    shown = _IMAGE.findall(handout.text)
    inside = "#zh" if handout is IN_CHINESE else ""
    files = [f"figures/{name}.svg{inside}" for name in figures.FIGURES]
    assert [target for _, target in shown] == files
    for alternative, target in shown:
        assert len(alternative) > 15, f"{target} has no text in place of it"


def test_a_notebook_finds_the_figures():
    """It lies beside assignment/, the handout inside it."""
    texts = "\n".join(
        "\n".join([text.opening, *text.sections.values(), text.closing])
        for text in part_texts().values()
    )
    shown = _IMAGE.findall(texts)
    assert len(shown) == len(figures.FIGURES)
    assert [
        target for _, target in shown if not (ROOT / target.removesuffix("#zh")).is_file()
    ] == []


@cache
def examples(handout: Handout) -> doctest.DocTest:
    """The Python sessions of a handout as one doctest, run against the solution."""
    # Blank what is no session, so that line numbers in a failure are the handout's.
    kept = ["" for _ in handout.lines]
    for match in _BLOCK.finditer(handout.text):
        if match[1] == "python":
            first = handout.text[: match.start()].count("\n") + 1
            for offset, line in enumerate(match[2].splitlines()):
                kept[first + offset] = line
    source = re.sub(r"from assignment\.(?!harness)", "from solution.", "\n".join(kept))
    return doctest.DocTestParser().get_doctest(source, {}, "handout", str(handout.path), 0)


def test_every_worked_number_is_true(handout):
    problems: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(examples(handout), out=problems.append)
    assert results.attempted >= 40
    assert results.failed == 0, "".join(problems)


def test_every_part_has_a_worked_example(handout):
    assert [part.number for part in PARTS if ">>> " not in handout.part(part)] == []


def test_examples_need_only_numpy_and_the_homework():
    modules = set()
    for example in examples(ENGLISH).examples:
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module)
    given = {"solution.transformer"}  # the sizes of a model
    # A session with a function of part 11 would show an answer: its example reads other numbers.
    modules_of_parts = {f"solution.{part.module}" for part in PARTS if part.module != "exercises"}
    how_answers_are_read = {"assignment.harness.quantity"}
    assert modules == {"numpy"} | given | modules_of_parts | how_answers_are_read


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


def test_no_solution_line_is_in_the_open(page):
    lines = solution_lines()
    assert len(lines) > 50
    assert sorted(line for line in lines if line in page.text) == []
