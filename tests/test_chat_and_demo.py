"""The programs people look at: chat and look for students, the demo for newcomers."""

from __future__ import annotations

import html
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from report_support import dump_dom, require_chromium
from rich.console import Console

from assignment import chat, look
from assignment.harness import words
from assignment.harness.page.look import SAME, patterns, strongest
from grader.cli import demo
from grader.results.record import TestResult, make_result, write_record
from reference_model import smollm2

ROOT = Path(__file__).parent.parent
LOAD_FILE = safetensors.numpy.load_file


@dataclass(frozen=True)
class Said:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_chat(capsys, monkeypatch) -> Callable[..., Said]:
    """The program in this process, with the real model read once for all its runs."""
    monkeypatch.setattr(safetensors.numpy, "load_file", arrays_of)

    def run(*arguments: str) -> Said:
        code = chat.main(list(arguments))
        return Said(code, *capsys.readouterr())

    return run


@cache
def arrays_of(path: Path) -> dict[str, np.ndarray]:
    return LOAD_FILE(path)


@pytest.fixture(scope="module")
def model() -> Path:
    try:
        return smollm2.fetch()
    except smollm2.SmolLM2Unavailable as reason:
        pytest.skip(f"SmolLM2-135M cannot be fetched: {reason}")


def test_chat_says_which_stub_is_left(model):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home())}
    command = [sys.executable, "-m", "assignment.chat", "Hello"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "Part 4.1 KVCache" in result.stderr
    assert "README.md §4.1" in result.stderr
    assert "Traceback" not in result.stderr


def test_chat_continues_a_text_as_the_reference_does(model, run_chat):
    prompt = "Once upon a time, in a small village"
    result = run_chat(prompt, "--impl", "solution", "--max-new-tokens", "5")
    assert result.stdout.startswith(f"{prompt} nestled between a great oak")


def test_chat_samples_the_same_text_for_the_same_seed(model, run_chat):
    arguments = ("The sea", "--impl", "solution", "--max-new-tokens", "4", "--temperature", "1.2")
    filters = ("--top-k", "50", "--top-p", "0.95")
    first, again = (run_chat(*arguments, *filters, "--seed", "4").stdout for _ in range(2))
    other = run_chat(*arguments, *filters, "--seed", "5").stdout
    assert first == again != other


def test_chat_without_the_model_is_a_sentence(tmp_path, run_chat, monkeypatch):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    result = run_chat("Hello")
    assert result.returncode == 1
    assert "SmolLM2" in result.stderr
    assert "Traceback" not in result.stderr


# ---- look: a page of one's own functions at work

TEXT = "to be or not to be, to be"
# Part 4 with the famous bug: every new token sits at position 0.
POSITION = (
    "positions = np.arange(start, start + length)",
    "positions = np.arange(start, start + length) * (length > 1)",
)
OF_ITS_OWN = ("heads = grouped_query_attention(", "heads = own_attention(")


def package_of(folder: Path, *changes: tuple[str, str], stubs: tuple[str, ...] = ()) -> str:
    """A package: the solution with a changed kv_cache.py, and some modules as handed out."""
    package = folder / f"looked_{folder.name.replace('-', '_')}"
    package.mkdir()
    for path in (ROOT / "solution").glob("*.py"):
        source = ROOT / "assignment" if path.stem in stubs else ROOT / "solution"
        text = (source / path.name).read_text(encoding="utf-8")
        if path.stem == "kv_cache":
            for old, new in changes:
                assert old in text
                text = text.replace(old, new)
        (package / path.name).write_text(text, encoding="utf-8")
    return package.name


@pytest.fixture
def importable(tmp_path, monkeypatch) -> Path:
    """A folder whose packages can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
def run_look(tmp_path, importable, capsys) -> Callable[..., tuple[Said, Path]]:
    """The program in this process, on the small random model; what it said and the page."""
    out = tmp_path / "look.html"

    def run(*arguments: str, text: str = TEXT) -> tuple[Said, Path]:
        code = look.main([text, "--tiny", "--out", str(out), *arguments])
        words.speak(None)
        return Said(code, *capsys.readouterr()), out

    return run


def observed(package: str, text: str = TEXT) -> look.Seen:
    language = look.tiny_language()
    return look.Observer(package, language.model).look(language.encode(text))


def test_attention_is_taken_from_the_students_own_function():
    seen = observed("solution")
    n = len(TEXT)
    assert seen.notes == []
    assert seen.whole.shape == (2, 4, n, n)
    np.testing.assert_allclose(seen.whole.sum(axis=-1), 1, rtol=1e-5)
    assert not seen.whole[..., ~np.tri(n, dtype=bool)].any()
    np.testing.assert_allclose(seen.steps, seen.whole, atol=1e-5)
    # 2 of K and V, 2 layers, 2 key/value heads of 8, 4 bytes
    assert seen.cache_bytes == [2 * 2 * 2 * 8 * 4 * (t + 1) for t in range(n)]
    assert max(apart for _, apart in seen.apart) < 1e-4
    assert len(seen.cached_ms) == n and seen.recompute_ms[-1][0] == n


def test_a_position_bug_is_seen(tmp_path, run_look):
    package = package_of(tmp_path, POSITION)
    right, wrong = observed("solution"), observed(package)
    np.testing.assert_allclose(wrong.whole, right.whole, atol=1e-6)
    assert np.abs(wrong.steps - right.steps).max() > 0.1
    assert next(n for n, apart in wrong.apart if apart > SAME) > 1
    said, page = run_look("--impl", "solution", "--compare", package)
    assert said.returncode == 0
    assert "One of the two is wrong." in page.read_text(encoding="utf-8")


def test_what_is_not_done_is_said_and_the_rest_is_shown(importable):
    package = package_of(importable, stubs=("kv_cache", "gqa", "rope"))
    seen = observed(package)
    notes = " ".join(seen.notes)
    assert seen.whole.shape[0] == 2 and seen.logits.shape == (len(TEXT), 128)
    assert seen.steps is None and seen.cache_bytes == [] and seen.cached_ms == []
    for part in ("Part 4.1 KVCache", "Part 5.1 grouped_query_attention", "Part 3.2 apply_rope"):
        assert f"Not there yet: {part}" in notes


def test_without_part_one_there_is_nothing_to_look_at(run_look):
    said, page = run_look()
    assert said.returncode == 1 and not page.exists()
    assert "Part 1.2 scaled_dot_product_attention" in said.stderr
    assert "part 1 comes first" in said.stderr


def test_a_loop_that_calls_another_attention_is_told(importable):
    own = "\n\ndef own_attention(q, k, v, mask):\n    from . import attention as a\n"
    own += "    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))\n"
    own += "    return a.scaled_dot_product_attention(q, k, v, mask)\n\n\nclass KVCache:"
    seen = observed(package_of(importable, OF_ITS_OWN, ("class KVCache:", own)))
    assert seen.whole is None and seen.steps is None
    assert "by name 0 times for 2 layers" in seen.notes[0]
    assert seen.cache_bytes and seen.logits is not None


def test_a_package_that_is_not_there_or_cannot_be_read_is_told(importable, run_look):
    said, _ = run_look("--impl", "solution", "--compare", "nowhere")
    assert said.returncode == 1 and "no package nowhere" in said.stderr
    package = package_of(importable, ("class KVCache:", "class KVCache"))
    said, page = run_look("--impl", package)
    assert said.returncode == 1 and not page.exists()
    assert "SyntaxError" in said.stderr and "Traceback" not in said.stderr


def test_a_long_text_is_cut_and_it_says_so(run_look):
    said, page = run_look("--impl", "solution", text="ab" * look.MAX_TOKENS)
    assert said.returncode == 0
    text = page.read_text(encoding="utf-8")
    assert f"its first {look.MAX_TOKENS} tokens are shown" in text
    assert len(data_of(text)["tokens"]) == look.MAX_TOKENS


def test_an_error_in_the_loop_is_told_with_its_line(importable):
    seen = observed(package_of(importable, ("mask = causal_mask(", "mask = 1 / 0 + causal_mask(")))
    assert any("ZeroDivisionError" in note and "kv_cache.py:" in note for note in seen.notes)


def test_heads_are_found_by_what_they_look_at():
    tokens = [5, 6, 7, 5, 6]
    cells = patterns(tokens)
    assert np.argwhere(cells["repeated"]).tolist() == [[3, 0], [4, 1]]
    assert np.argwhere(cells["induction"]).tolist() == [[3, 1], [4, 2]]
    attention = np.full((2, 2, 5, 5), 0.1)
    for (layer, head), kind in zip(np.ndindex(2, 2), cells, strict=True):
        attention[layer, head][cells[kind]] = 0.9
    for place, kind in zip(np.ndindex(2, 2), cells, strict=True):
        assert strongest(attention, cells[kind])[0] == (*place, pytest.approx(0.9))
    assert strongest(attention, patterns([1, 2, 3, 4, 5])["repeated"]) == []


def test_the_real_model_has_the_heads_that_are_known(model, run_chat, tmp_path, capsys):
    """One that looks at the previous token, one that rests on the first, one that repeats."""
    out = tmp_path / "look.html"
    assert look.main([look.TEXT, "--impl", "solution", "--new", "1", "--out", str(out)]) == 0
    data = data_of(out.read_text(encoding="utf-8"))
    assert data["tokens"][-1] == "␣mat"
    found = {kind: heads[0][2] for kind, heads in data["seen"][0]["heads"].items()}
    assert all(found[kind] > 0.5 for kind in ("previous", "first", "repeated", "induction"))


def test_look_without_the_model_is_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert look.main(["Hello", "--impl", "solution", "--out", str(tmp_path / "x.html")]) == 1
    said = capsys.readouterr().err
    assert "SmolLM2" in said and "--tiny" in said


# By interaction: what is done to the fresh page, and what it then gives.
LOOKED = {
    "a strongest head is chosen": (
        """const { heads } = JSON.parse(document.getElementById("data").textContent).seen[0];
        const [layer, head] = heads.first[1];
        document.querySelectorAll('[data-kind="first"]')[1].click();
        const said = document.getElementById("chosen").textContent;
        return [look.state.layer === layer, look.state.head === head,
          said.includes(`Layer ${layer}, head ${head}`)]""",
        [True, True, True],
    ),
    "a head by the keyboard": (
        """look.set({ layer: 0, head: 0 }); const press = (name) => key("overview", `Arrow${name}`);
        ["Right", "Down", "Down", "Left", "Left"].forEach(press);
        return [look.state.layer, look.state.head]""",
        [0, 2],
    ),
    "a head by the mouse": (
        """const box = document.getElementById("overview").getBoundingClientRect();
        document.getElementById("overview").dispatchEvent(new MouseEvent("click",
          { clientX: box.right - 8, clientY: box.bottom - 8 }));
        return [look.state.layer, look.state.head]""",
        [1, 3],
    ),
    "the way it ran": (
        """const of = (way) => { document.querySelector(`[data-way="${way}"]`).click();
          return canvases().length; };
        return ["steps", "whole", "apart"].map(of)""",
        [3, 3, 2],
    ),
    "buttons zoom": (
        """press("in"); press("in"); const near = look.state.zoom; press("out");
        const back = look.state.zoom; press("fit"); return [near, back, look.state.zoom]""",
        [2.25, 1.5, 1],
    ),
    "keys zoom and move": (
        """look.set({ row: 5, column: 3 });
        ["+", "ArrowDown", "ArrowLeft"].forEach((name) => type(canvases()[0], name));
        const { zoom, row, column } = look.state;
        type(canvases()[0], "0"); return [zoom, row, column, look.state.zoom]""",
        [1.5, 6, 2, 1],
    ),
    "the wheel zooms where it points": (
        """const at = cell(canvases()[0], 8, 20);
        canvases()[0].dispatchEvent(new WheelEvent("wheel", { deltaY: -1, ...at }));
        const [x, y] = [cell(canvases()[0], 8, 20), look.state.zoom];
        return [y, Math.abs(x.clientX - at.clientX) < 1, Math.abs(x.clientY - at.clientY) < 1]""",
        [1.25, True, True],
    ),
    "a picture is dragged": (
        """look.set({ zoom: 4, left: 5, top: 5 }); const one = canvases()[0];
        const [a, b] = [cell(one, 8, 8), cell(one, 7, 6)];
        point(one, "down", a); point(one, "move", b); point(one, "up", b);
        return [Math.round(look.state.left), Math.round(look.state.top)]""",
        [6, 7],
    ),
    "a cell is chosen": (
        """const at = cell(canvases()[1], 4, 9); point(canvases()[1], "down", at);
        point(canvases()[1], "up", at); return [look.state.row, look.state.column]""",
        [9, 4],
    ),
    "what the cell says": (
        """look.set({ way: "whole", row: 0, column: 0 });
        return document.getElementById("cell").textContent""",
        "t at 0 to t at 0: 100\u202f% in one, 100\u202f% in the other",
    ),
    "tokens by the keyboard": (
        """look.set({ row: 3 }); key("strip", "ArrowRight"); const next = look.state.row;
        key("strip", "End"); const end = look.state.row; key("strip", "Home");
        const chosen = document.querySelectorAll('[aria-selected="true"]').length;
        return [next, end, look.state.row, chosen]""",
        [4, len(TEXT) + 1, 0, 1],
    ),
    "a token by the mouse": (
        """document.getElementById("token7").click();
        return [look.state.row, document.querySelectorAll("#bars tbody tr").length]""",
        [7, 12],
    ),
    "both agree until the bug": (
        """return document.getElementById("parted").textContent""",
        "The two expect different tokens from position {first} on.",
    ),
    "nothing hangs over at 390": (
        """document.body.style.width = "390px"; dispatchEvent(new Event("resize"));
        return [...document.querySelectorAll("main > *, figure, table, .controls, #kinds p")]
          .filter((e) => e.getBoundingClientRect().right > 391).length""",
        0,
    ),
}
HANDS = """
const canvases = () => [...document.querySelectorAll("#pictures canvas")];
const type = (one, name) => one.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
const key = (id, name) => type(document.getElementById(id), name);
const press = (name) => document.querySelector(`[data-zoom="${name}"]`).click();
const point = (one, what, at) => one.dispatchEvent(new PointerEvent(`pointer${what}`, at));
const cell = (one, column, row) => {
  const box = one.getBoundingClientRect(), { zoom, left, top } = look.state, label = 74;
  const side = ((one.clientWidth - label) / document.querySelectorAll("#strip span").length) * zoom;
  return { clientX: box.x + label + (column + 0.5 - left) * side,
    clientY: box.y + label + (row + 0.5 - top) * side };
};
"""


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory) -> tuple[dict, str]:
    """What each interaction gave, in one start of the browser; and the page."""
    require_chromium()
    folder = tmp_path_factory.mktemp("look")
    sys.path.insert(0, str(folder))
    package = package_of(folder, POSITION)
    out = folder / "look.html"
    arguments = ["--impl", "solution", "--compare", package, "--tiny", "--new", "2"]
    assert look.main([TEXT, *arguments, "--out", str(out)]) == 0
    sys.path.remove(str(folder))
    page = out.read_text(encoding="utf-8")
    functions = ",".join(f"{json.dumps(n)}: () => {{ {s} }}" for n, (s, _) in LOOKED.items())
    script = f"""{HANDS}
    const start = {{ ...look.state }}, found = {{}};
    for (const [name, check] of Object.entries({{ {functions} }})) {{
      look.set({{ ...start }});
      try {{ found[name] = check(); }} catch (error) {{ found[name] = String(error); }}
    }}
    const pre = document.createElement("pre");
    pre.id = "found";
    pre.textContent = JSON.stringify(found);
    document.body.replaceChildren(pre);"""
    tested = folder / "tested.html"
    # The page's policy allows no script but its own.
    free = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    tested.write_text(free.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    dom, log = dump_dom(tested)
    assert not log, log
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1])), page


@pytest.mark.parametrize("name", LOOKED)
def test_the_page_of_look_can_be_played_with(looked_at, name):
    found, page = looked_at
    expected = LOOKED[name][1]
    if "{first}" in str(expected):
        likeliest = [[row[0][0] for row in one["next"]] for one in data_of(page)["seen"]]
        parted = [a == b for a, b in zip(*likeliest, strict=True)].index(False)
        expected = expected.format(first=parted)
    assert found[name] == expected


def data_of(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_the_page_of_look_loads_nothing_and_its_policy_lets_it_run(run_look, language, monkeypatch):
    hostile = replace(look.tiny_language(), word=lambda token: "</script><i>")
    monkeypatch.setattr(look, "tiny_language", lambda: hostile)
    said, page = run_look("--impl", "solution", "--lang", language, text="abc")
    assert said.returncode == 0
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=|@import|url\(|https?://(?!www\.w3\.org)", text)
    dom, log = dump_dom(page)
    assert not log, log
    assert dom.count("<canvas") == 2
    assert "<i>" not in dom
    assert ("每一层、每个头的注意力" in dom) is (language == "zh")
    assert "undefined" not in dom.partition("</style>")[2].partition("<script")[0]


# ---- the demo


def a_result(points: float) -> dict:
    test = TestResult(
        id="t",
        part=4,
        section="4.3",
        title="decode",
        visibility="public",
        points=points,
        max_points=2.0,
        state="passed" if points else "failed",
        message="" if points else "position 0",
    )
    return {"tests": [test], "state": "graded"}


@pytest.mark.parametrize(
    ("points", "entry", "agrees"),
    [
        (2.0, {"state": "graded", "failing_parts": []}, True),
        (0.0, {"state": "graded", "failing_parts": [4]}, True),
        (0.0, {"state": "graded", "failing_parts": [4], "message": "position 0"}, True),
        (0.0, {"state": "graded", "failing_parts": []}, False),
        (2.0, {"state": "graded", "failing_parts": [4]}, False),
        (0.0, {"state": "graded", "failing_parts": [4], "message": "scale"}, False),
        (0.0, {"state": "partial", "failing_parts": [4]}, False),
    ],
)
def test_the_demo_tells_an_expected_verdict_from_another(points, entry, agrees):
    fields = dict.fromkeys(("student", "source", "submission_hash", "suite_hash"), "x")
    result = make_result(**fields, suite_version="1", **a_result(points))
    assert demo.agrees_with(result, entry) is agrees


def test_the_demo_prints_a_missing_result_as_a_disagreement(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "RESULTS", tmp_path)
    fields = dict.fromkeys(("source", "submission_hash", "suite_hash"), "x")
    student = "correct-einsum"
    write_record(
        tmp_path, make_result(student=student, **fields, suite_version="1", **a_result(2.0))
    )
    console = Console(width=200, record=True, file=io.StringIO())
    assert demo._print_verdicts(console) is False
    lines = {
        line.split()[1]: line for line in console.export_text().splitlines() if " correct" in line
    }
    assert lines["correct-einsum"].startswith("✓")
    assert lines["correct-loops"].startswith("✗") and "no result" in lines["correct-loops"]


def test_the_demos_two_texts_part_ways(any_sandbox, model, sample_class):
    right, wrong = (demo._text_of(sample_class / name, model, "auto") for name in demo.SIDE_BY_SIDE)
    assert "nestled between a great oak and a great eagle" in right
    # The first token comes from the prefill, which is right in both (L2 §5.3).
    assert right.split()[0] == wrong.split()[0] == "nestled"
    assert right != wrong
