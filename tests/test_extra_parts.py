"""The extra parts. Part 12: the machine finds seeded faults, right code in three styles gets full
marks. Of both parts: the handouts have the same sections, commands and formulas in both languages.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest

from assignment.harness import draws, plugin
from assignment.harness.cases import load_cases
from assignment.harness.compare import Mismatch
from assignment.harness.machines import run_engine_machine, run_pages_machine
from assignment.harness.parts import SERVING_PART, STUDENT_MODULES, TORCH_PART
from assignment.harness.student import LocalBackend, Student
from grader.diagnosis.lookup import test_name
from grader.grade_class import grade_class
from grader.grading.suite import Suite, collect_all
from grader.known_bugs import Bug, bug_named, make_variant
from grader.results.record import read_record

ROOT = Path(__file__).parent.parent
POOL = "serving/pool"

# --- seeded faults ------------------------------------------------------------------------------

# Those of the catalogue that are the engine's or show in it, and ...
KNOWN = (
    "chunk-makes-a-token",
    "preempted-begins-anew",
    "preempted-token-twice",
    "preempted-to-the-end",
    "last-come-first-served",
    "batch-waits-for-its-longest",
    "fork-without-copy",
    "free-forgets-the-sharers",
    "copy-of-one-layer",
    "positions-of-the-longest",
    "mask-of-the-longest",
)
# ... those that change no logits, so that only somebody who counts can see them.
SEEDED = {
    "cancelled-keeps-its-blocks": [
        ("Engine.cancel", "self._stop(request)", "self.running.remove(request)")
    ],
    "oldest-is-preempted": [
        ("Engine._add_or_preempt", "self.running[-1]", "self.running[0]"),
    ],
    "preempted-before-blocks-run-out": [
        ("Engine._add_or_preempt", "> self._cache.n_free:", ">= self._cache.n_free:"),
    ],
    "ended-rows-run-on": [
        (
            "Engine.step",
            "        plan = self._plan()\n",
            "        plan = self._plan()\n"
            "        if len(self._requests) > len(self.running) + len(self.waiting):\n"
            "            ended = self._cache.add()\n"
            "            ragged_prefill(self._model, [np.array([0])], self._cache, [ended])\n"
            "            self._cache.free(ended)\n",
        )
    ],
    "budget-is-overrun": [
        ("Engine._budget_left", "self._budget - ", "self._budget + 2 - "),
    ],
    "fork-copies-at-once": [
        (
            "Engine.fork",
            "        sequence = self._cache.fork(old.sequence)\n",
            "        sequence = self._cache.add()\n"
            "        for layer in range(self._model.config.n_layers):\n"
            "            rows = self._cache.read(layer, old.sequence)\n"
            "            self._cache.append(layer, sequence, *rows)\n",
        )
    ],
    "first-in-line-is-passed": [
        (
            "Engine._plan",
            "                self._requests[number].sequence = -1\n                break\n",
            "                self._requests[number].sequence = -1\n"
            "                self.waiting.append(self.waiting.pop(0))\n"
            "                break\n",
        )
    ],
}


def seeded(name: str) -> Bug:
    """A fault in the form of a known bug."""
    if name in KNOWN:
        return bug_named(name)
    texts = {"en": "-", "zh": "-"}
    changes = [{"in": where, "old": old, "new": new} for where, old, new in SEEDED[name]]
    told = {"summary": texts, "explanation": texts, "hints": [texts] * 3}
    return Bug.model_validate({"name": name, "part": 12, "change": changes, **told})


@pytest.fixture
def as_at_home():
    """The examples of a student's run: few, the same every time, not made smaller."""
    import assignment.harness.plugin  # noqa: F401  # registers the profile

    before = hypothesis.settings.get_current_profile_name()
    hypothesis.settings.load_profile("homework")
    yield
    hypothesis.settings.load_profile(before)


@pytest.mark.parametrize("fault", [*KNOWN, *SEEDED])
def test_the_machine_finds_a_seeded_fault(as_at_home, fault):
    student = Student(make_variant([seeded(fault)]))
    with pytest.raises((Mismatch, ValueError)), contextlib.redirect_stdout(io.StringIO()):
        run_engine_machine(student, load_cases()[POOL])


@pytest.mark.parametrize(
    "fault", ["append-into-the-first-block-only", "block-table-one-late", "fork-without-copy"]
)
def test_the_machine_of_pages_finds_a_fault(as_at_home, fault):
    with pytest.raises(Mismatch), contextlib.redirect_stdout(io.StringIO()):
        run_pages_machine(Student(make_variant([bug_named(fault)])))


def test_the_machines_find_nothing_in_the_solution(as_at_home):
    student = Student(make_variant([]))
    run_engine_machine(student, load_cases()[POOL])
    run_pages_machine(student)


# --- right code in three styles -----------------------------------------------------------------

STYLES = ("padded", "token_by_token", "rows_in_dicts")


def files_of(style: str) -> dict[str, str]:
    """The solution's modules, one of them with a style's definitions behind it."""
    names = (*STUDENT_MODULES, *SERVING_PART.modules, "transformer", "__init__")
    files = {f"{n}.py": (ROOT / "solution" / f"{n}.py").read_text("utf-8") for n in names}
    text = (ROOT / "tests" / "serving_styles.py").read_text("utf-8")
    sections = re.split(r"^# %% (\w+): (\w+\.py)\n", text, flags=re.MULTILINE)[1:]
    for name, module, code in zip(sections[::3], sections[1::3], sections[2::3], strict=True):
        if name == style:
            files[module] += f"\n\n{code}"
            return files
    raise ValueError(style)


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Suite:
    return Suite.load(b"styles", False, tmp_path_factory.mktemp("suite"), part12=True)


def failed_by(backend: LocalBackend, suite: Suite) -> dict[str, str]:
    """The tests of part 12 on hidden cases, and on none, that fail in this process, and why."""
    items, case_sets = collect_all(suite)
    failed = {}
    for item in items:
        arguments = dict(getattr(item, "callspec", SimpleNamespace(params={})).params)
        if arguments.get("oracle") == "public":
            continue
        if "oracle" in arguments:
            arguments["oracle"] = plugin.Oracle(case_sets[arguments["oracle"]])
        try:
            with draws.draws_of(item.obj, suite.seed_of(test_name(item))):
                item.obj(student=Student(backend), **arguments)
        except (Exception, pytest.skip.Exception) as error:
            failed[test_name(item)] = str(error)
    return failed


@pytest.mark.parametrize("style", STYLES)
def test_a_style_passes_every_test(style, suite, tmp_path, monkeypatch, as_at_home):
    package = f"serving_style_{style}"
    (tmp_path / package).mkdir()
    for name, text in files_of(style).items():
        (tmp_path / package / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert failed_by(LocalBackend(package), suite) == {}


@pytest.mark.slow
def test_a_style_gets_full_marks_in_the_grader(any_sandbox, tmp_path):
    (tmp_path / "class" / "ana").mkdir(parents=True)
    for name, text in files_of("rows_in_dicts").items():
        (tmp_path / "class" / "ana" / name).write_text(text, encoding="utf-8")
    out, secret = tmp_path / "results", tmp_path / "secret.hex"
    grade_class([tmp_path / "class"], out, secret_file=secret, part12=True, quiet=True)
    result, _ = read_record(out, "ana")
    assert {t.id: t.message for t in result.tests if t.state != "passed"} == {}
    assert {t.part for t in result.tests} == {12} and result.total == result.max_total


# --- the handouts -------------------------------------------------------------------------------

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
