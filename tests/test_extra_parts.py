"""The extra parts. Part 12: the machine finds seeded faults, right code in three styles gets full
marks. Of both parts: the handouts have the same sections, commands and formulas in both languages.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import numpy as np
import pytest

from assignment import serve_demo
from assignment.harness import draws, plugin
from assignment.harness.cases import load_cases
from assignment.harness.compare import Mismatch
from assignment.harness.machines import run_engine_machine, run_pages_machine
from assignment.harness.parts import SERVING_PART, STUDENT_MODULES, TORCH_PART, Part
from assignment.harness.student import LocalBackend, Student
from grader.diagnosis import lookup
from grader.grade_class import grade_class
from grader.grading.suite import Suite, collect_all
from grader.known_bugs import Bug, bug_named, make_variant
from grader.results.record import read_record
from reference_model import accounting
from reference_model.accounting import LLAMA31_8B
from solution.paged_cache import PagedKVCache, attention_in_tiles, quantize_blocks
from solution.serving import Engine
from solution.transformer import load_model

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
            with draws.draws_of(item.obj, suite.seed_of(lookup.test_name(item))):
                item.obj(student=Student(backend), **arguments)
        except (Exception, pytest.skip.Exception) as error:
            failed[lookup.test_name(item)] = str(error)
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
ENGLISH, CHINESE = "PART{}.md", "PART{}.zh.md"

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_DISPLAY = re.compile(r"\$\$.+?\$\$", re.DOTALL)
# What must be the same letter for letter: code, commands and formulas.
_FORMULA_OR_CODE = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$|`[^`\n]+`", re.DOTALL)


@pytest.fixture(params=[TORCH_PART, SERVING_PART], ids=["part10", "part12"])
def part(request) -> Part:
    return request.param


def sections_of(part: Part) -> list[str]:
    return [f"## {part.section_of(name)} {name}" for name in part.functions]


def text_of(part: Part, name: str) -> str:
    return (ASSIGNMENT / name.format(part.number)).read_text(encoding="utf-8")


def both_texts(part: Part) -> tuple[str, str]:
    return text_of(part, ENGLISH), text_of(part, CHINESE)


def headings(text: str) -> list[str]:
    return [line for line in _FENCE.sub("", text).splitlines() if line.startswith("#")]


def chapters(text: str) -> list[str]:
    return re.split(r"^##+ ", _FENCE.sub("", text), flags=re.MULTILINE)


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_every_stub_has_its_section_and_no_section_is_left_over(part, language):
    numbered = [h for h in headings(text_of(part, language)) if re.match(r"## \d+\.\d", h)]
    assert numbered == sections_of(part)


def test_stubs_point_at_sections_that_are_there(part):
    """What `raise NotImplementedError("Part 10.1 ...: see PART10.md §10.1")` promises."""
    trees = [ast.parse((ASSIGNMENT / f"{m}.py").read_text(encoding="utf-8")) for m in part.modules]
    texts = [
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = {match[1] for text in texts if (match := re.match(r"Part (1\d\.\d+) ", text))}
    assert named == {line.split()[1] for line in sections_of(part)}


def test_both_have_the_same_structure(part):
    english, chinese = both_texts(part)
    levels = [[line.split()[0] for line in headings(text)] for text in (english, chinese)]
    assert levels[0] == levels[1]
    assert _FENCE.findall(english) == _FENCE.findall(chinese)
    for one, other in zip(chapters(english), chapters(chinese), strict=True):
        title = one.splitlines()[0]
        both = [text.replace(".zh.md", ".md") for text in (one, other)]
        found = [sorted(_FORMULA_OR_CODE.findall(text)) for text in both]
        assert set(found[0]) == set(found[1]), f"under {title!r}"
        items = [len(re.findall(r"^[-|] ", text, re.MULTILINE)) for text in both]
        assert items[0] == items[1], f"items and rows under {title!r}"


def test_both_name_the_same_numbers(part):
    """Points, contexts, milliseconds: none is left out or mistyped."""
    english, chinese = both_texts(part)
    for one, other in zip(chapters(english), chapters(chinese), strict=True):
        numbers = [
            set(re.findall(r"\d+(?:\.\d+)?", _FORMULA_OR_CODE.sub("", text)))
            for text in (one, other)
        ]
        # Chinese counts parts, tokens and steps in figures where English has words.
        assert numbers[0] - {str(part.number)} <= numbers[1], one.splitlines()[0]


def test_the_chinese_is_chinese_and_links_the_english(part):
    english, chinese = both_texts(part)
    paragraphs = [p for p in _FENCE.sub("", chinese).split("\n\n") if len(p) > 60]
    paragraphs = [p for p in paragraphs if not _DISPLAY.fullmatch(p.strip())]
    assert [p for p in paragraphs if not re.search("[\u4e00-\u9fff]", p)] == []
    for here, there in ((english, CHINESE), (chinese, ENGLISH)):
        assert f"]({there.format(part.number)})" in "\n".join(here.splitlines()[:5])


def test_every_command_selects_tests(part):
    """All in one run of pytest's collection, each by its -k."""
    if part is TORCH_PART:
        pytest.importorskip("torch", reason="torch is not installed")
    commands = set(re.findall(r"`(pytest assignment/ -k [^`]+)`", text_of(part, CHINESE)))
    assert len(commands) == len(part.functions)
    mine = f"part{part.number}"
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [*command, "--collect-only", "-q", "-k", mine],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = re.findall(r"::(test_\w+)", listed)
    for command in sorted(commands):
        wanted = shlex.split(command)[-1].removeprefix(f"{mine} and ").strip("()").split(" or ")
        assert any(word in name for word in wanted for name in names), command


# --- the worked examples of part 12 -------------------------------------------------------------


def rows_under(section: str) -> list[list[str]]:
    """The cells of the table in a section of part 12's handout, without its head."""
    (text,) = (c for c in chapters(text_of(SERVING_PART, ENGLISH)) if c.startswith(section))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_the_block_table_by_hand():
    """Lengths of the tables, who shares what, and free blocks, after each of its steps."""
    cache = PagedKVCache(1, 1, 1, 8, 4, np.dtype(float))
    named: dict[str, int] = {}
    for what, *shown, free in rows_under("12.1"):
        who, number = what[0], int(re.search(r"(\d*)$", what)[1] or 0)
        if "forked" in what:
            named[who] = cache.fork(named["A"])
        elif "freed" in what:
            cache.free(named.pop(who))
        elif "truncated" in what:
            cache.truncate(named[who], number)
        else:
            named[who] = named[who] if who in named else cache.add()
            cache.append(0, named[who], *np.zeros((2, 1, number, 1)))
        tables = {name: cell.split() for name, cell in zip("ABC", shown, strict=True) if cell}
        ours = {name: cache.block_table(sequence) for name, sequence in named.items()}
        assert {n: len(t) for n, t in ours.items()} == {n: len(t) for n, t in tables.items()}
        for one, other in itertools.combinations(ours, 2):
            n_shared = len({*tables[one]} & {*tables[other]})
            assert len({*ours[one]} & {*ours[other]}) == n_shared, what
        assert cache.n_free == int(free), what


def test_the_schedule_by_hand():
    case = load_cases()[POOL]
    model = load_model(case.config, case.params)
    cache = PagedKVCache(2, case.config["n_kv_heads"], 4, 5, 4, np.dtype(float))
    engine = Engine(model, cache, 6, 3)
    for length, n_new in ((6, 4), (5, 4), (3, 2)):
        engine.submit(np.arange(length), n_new)
    for _, ran, *shown in rows_under("12.4"):
        model.counter.reset()
        makers, _ = engine.step()
        assert model.counter.rows("w_q") // 2 == sum(map(int, ran.split(",")))
        seen = [makers, engine.running, engine.waiting, [cache.n_free]]
        assert [" ".join(map(str, numbers)) for numbers in seen] == shown
    assert not engine.running and not engine.waiting


def test_the_numbers_of_the_handout():
    """The tile, the scales, the roofline, what blocks use, and what drafts give."""
    text = text_of(SERVING_PART, ENGLISH)
    keys, values = np.array([[[[0.0], [1.0]]], [[[3.0], [9.0]]]]), np.array([[[[1.0], [2.0]]]] * 2)
    values[1] = 4
    got = attention_in_tiles(np.ones((1, 1)), keys, values, [0, 1], 3)
    assert f"the result is {got[0, 0]:.3f}" in text
    integers, _ = quantize_blocks(np.array([[[[2.54, -1.0]], [[0.05, 0.127]]]]))
    assert integers.ravel().tolist() == [127, -50, 50, 127]
    for batch in (1, 8, 32, 128, 256):
        ms = 1e3 * accounting.decode_step_seconds(LLAMA31_8B, batch, 1024, accounting.H100)
        flops = accounting.decode_intensity(LLAMA31_8B, batch, 1024)
        assert f"| {batch} | {ms:.2f} | {1e3 * batch / ms:,.0f} | {flops:.1f} |" in text
    lengths = np.array([37, 512, 90, 1800, 260, 700, 45, 150])
    assert f"use {lengths.sum() / (8 * 2048):.0%}".replace("%", " %") in text.replace("\n", " ")
    for size in (16, 32, 128):
        used = lengths.sum() / (np.ceil(lengths / size) * size).sum()
        assert f"{100 * used:.1f} %" in text
    for a in (0.5, 0.7, 0.8, 0.9):
        made = [f"{(1 - a ** (k + 1)) / (1 - a):.2f}" for k in (1, 2, 4, 8)]
        assert f"| {a} | {' | '.join(made)} |" in text


# --- the demo -----------------------------------------------------------------------------------


def test_the_demo_serves_and_shows_each_step(capsys):
    """On a small model: tokens are those of one by one, the table has a row a request."""
    case = load_cases()[POOL]
    model = load_model(case.config, case.params)
    prompts = [row[:length] for row, length in zip(case.rows, case.lengths, strict=True)]
    options = Namespace(blocks=8, block_size=4, budget=9, max_new_tokens=5)
    parts, shown = SimpleNamespace(PagedKVCache=PagedKVCache, Engine=Engine), []
    together = serve_demo.serve(parts, model, prompts, options, 4, lambda *it: shown.append(it))
    alone = serve_demo.serve(parts, model, prompts, options, 1)
    assert together.tokens == alone.tokens == case.logits.argmax(-1).tolist()
    assert together.n_steps == len(shown) < alone.n_steps and together.n_preempted > 0
    rows, footer = shown[-1]
    assert [row[1] for row in rows] == ["done"] * len(prompts) and "blocks 0/8" in footer
    with serve_demo.live_table() as show:  # nobody looks: a line a step
        show(rows, footer)
    assert capsys.readouterr().out.count("\n") == 1


def test_the_demo_says_which_stub_is_left(capsys, monkeypatch):
    def stub(options: Namespace) -> None:
        raise NotImplementedError("Part 12.1 PagedKVCache.__init__: see PART12.md §12.1")

    monkeypatch.setattr(serve_demo, "_run", stub)
    assert serve_demo.main([]) == 1
    assert "Not there yet: Part 12.1" in capsys.readouterr().err


def test_the_benchmark_compares_the_same_texts():
    pytest.importorskip("transformers", reason="transformers is not installed")
    from benchmarks import serving

    case = load_cases()[POOL]
    model = load_model(case.config, case.params)
    prompts = [row[:length] for row, length in zip(case.rows, case.lengths, strict=True)]
    made = serving.by_engine(model, prompts, 5)
    assert made == serving.one_by_one(model, prompts, 5) == case.logits.argmax(-1).tolist()
    slow, fast = accounting.Hardware("slow", 1e12, 1e9), accounting.Hardware("fast", 1e12, 2e9)
    assert serving.bound(prompts, 5, fast) == 2 * serving.bound(prompts, 5, slow)
    assert serving.bound(prompts * 2, 5, slow) > 1.9 * serving.bound(prompts, 5, slow)
