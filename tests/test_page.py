"""`pytest assignment/ --page`: what is on the page, and what of untrusted text is not."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_support import dump_dom, require_chromium
from test_grader_words import english_left
from test_report import HOSTILE, RAW, Page

from assignment.harness import real_text, words
from assignment.harness.at_home import packed, unpacked
from assignment.harness.compare import Mismatch, check_array
from assignment.harness.difference import MAX_COLUMNS, MAX_PANELS, MAX_ROWS, Difference
from assignment.harness.outcome import FAILED, NOT_STARTED, PASSED, Outcome
from assignment.harness.page.own import own_page
from assignment.harness.page.plots import directions, draw_difference, in_words
from assignment.harness.points import Grading
from assignment.harness.real_text import ModelText, right_text, text_at_home
from assignment.harness.shown import SideBySide
from assignment.harness.summary import Summary
from grader.authoring import real_text as authoring
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import patched_modules
from reference_model import smollm2

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def english_again():
    yield
    words.speak(None)


def mismatch(got: np.ndarray, expected: np.ndarray, axes: tuple[str, ...]) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        check_array(got, expected, "the logits", axes)
    return caught.value


def failed(title: str = "Every step is right", **fields) -> Outcome:
    """Of a decode whose first step is right."""
    expected = np.zeros((4, 2, 9))
    got = expected.copy()
    got[2, 1, 3:5] = 0.5
    wrong = mismatch(got, expected, ("step", "batch", "token"))
    outcome = Outcome(
        "assignment/test_part4_kv_cache.py::test_decode[public-mha]",
        Grading("4.3", 4, title, "mha"),
        FAILED,
        str(wrong),
        max_error=wrong.max_error,
        tolerance=wrong.tolerance,
        got=wrong.got,
        error_by_step=wrong.error_by_step,
        difference=wrong.difference,
    )
    return replace(outcome, **fields)


def passed(section: str = "1.1") -> Outcome:
    test = f"assignment/test_part{section.partition('.')[0]}_x.py::test_{section}"
    return Outcome(test, Grading(section, 2, "softmax"), PASSED)


def page_of(*outcomes: Outcome, text: ModelText | None = None) -> str:
    return own_page(Summary(outcomes), "assignment", lambda test: f"pytest {test}", text)


# ----------------------------------------------------------------------------------- the picture


def test_a_difference_says_where_something_is_wrong():
    difference = failed().difference
    assert in_words(difference) == (
        "Something is wrong at step 2, batch 1, token 3–4; all is right at step 0–1, 3; batch 0; "
        "token 0–2, 5–8."
    )
    assert directions(difference) == "Down: step 0–3; across: token 0–8."
    assert difference.cells.shape == (2, 4, 9)  # a panel for each batch row
    assert np.argwhere(difference.cells).tolist() == [[1, 2, 3], [1, 2, 4]]
    assert unpacked(packed(failed())).difference.wrong_at == difference.wrong_at


def test_a_difference_is_small_whatever_the_array():
    wrong = np.zeros((3, 9, 200, 300), bool)
    wrong[0, 0, 199, 299] = True
    difference = Difference.of(wrong, ("batch", "head", "position", "feature"))
    assert difference.cells.shape == (MAX_PANELS, MAX_ROWS, MAX_COLUMNS)
    assert np.argwhere(difference.cells).tolist() == [[0, MAX_ROWS - 1, MAX_COLUMNS - 1]]
    assert difference.n_left_out == 27 - MAX_PANELS
    assert len(str(draw_difference(difference))) < 20_000


@pytest.mark.parametrize("shape", [(), (1,), (2, 2, 2, 2, 2)])
def test_what_is_no_picture(shape):
    assert Difference.of(np.ones(shape, bool), ()) is None


def test_how_far_off_an_entry_is():
    errors = np.array([0, 1e-8, 0.01, 0.5, math.inf, math.nan])
    wrong = np.array([False] + [True] * 5)
    assert Difference.of(wrong, ("token",), errors).cells.tolist() == [[[0, 1, 2, 3, 3, 3]]]
    assert Difference.of(wrong, ("token",)).cells.max() == 4


# --------------------------------------------------------------------------------------- the page


def test_a_failure_is_told_plotted_and_pictured():
    small = SideBySide(np.eye(2), np.zeros((2, 2)), np.eye(2, dtype=bool))
    other = failed(
        "A small array", side_by_side=small, error_by_step=(), message="x", test="x.py::small"
    )
    twin = failed(test="assignment/test_part4_kv_cache.py::test_decode[public-gqa]")
    twin = replace(twin, grading=replace(twin.grading, variant="gqa"))
    page = Page(page_of(passed(), failed(printed="shape <b>"), twin, other))
    text = page.text()
    assert "2 of 14 points" in text
    assert "first wrong at step 2, batch 1, token 3" in text and "shape <b>" in text
    assert "Also wrong: gqa" in text and "pytest assignment/test_part4_kv_cache.py" in text
    pictures = [given["aria-label"] for given, _ in page.all("svg") if given.get("role") == "img"]
    assert len(pictures) == 2  # of the decode: where, and by step; the small array stands whole
    assert "Something is wrong at step 2" in pictures[0] and "logarithmic" in pictures[1]
    assert [words_ for _, words_ in page.all("mark")] == [" 1*", " 1*"]
    assert not page.problems


def test_a_finished_part_and_a_model_s_text():
    page = Page(page_of(passed(), text=ModelText.of("a b c d", "a b x")))
    assert "Every test passed." in page.text() and "Where points were lost" not in page.text()
    assert [words_ for _, words_ in page.all("mark")] == ["c d"]
    assert "a b c" in Page(page_of(passed(), text=ModelText.of("a b c", "a b c"))).text()


def test_hostile_text_stays_text():
    hostile = failed(HOSTILE, message=HOSTILE, printed=HOSTILE, test=f"x.py::{HOSTILE}")
    remark = replace(passed(), message=HOSTILE)
    html = page_of(hostile, remark, text=ModelText(HOSTILE, HOSTILE, HOSTILE, is_right=False))
    assert not [raw for raw in RAW if raw in html]
    assert not Page(html).problems


def test_no_english_is_left(tmp_path):
    outcome = failed(message="logits：数值不对", printed="")
    titled = replace(outcome, grading=replace(outcome.grading, title="The steps"))
    words.speak("zh")
    text = ModelText("从前", "一", "二", is_right=False)
    html = page_of(passed(), replace(titled, grading=Grading("4.3", 4, "标题")), text=text)
    assert [left for left in english_left(html) if "pytest" not in left] == []


def test_a_failing_submission_s_page_in_a_browser(tmp_path):
    """The whole way, from `pytest assignment/ --page` to what a browser makes of it."""
    require_chromium()
    folder = tmp_path / "course"
    shutil.copytree(ROOT / "assignment", folder / "assignment")
    for path in (ROOT / "solution").glob("*.py"):
        shutil.copy(path, folder / "assignment")
    bug = bug_named("rope-missing-minus")
    for module, source in patched_modules(bug, ROOT / "solution").items():
        (folder / "assignment" / f"{module}.py").write_text(source, "utf-8")
    command = [sys.executable, "-m", "pytest", "assignment/", "--page", "-k", "part1 or part3"]
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    page = folder / "homework.html"
    assert page.as_uri() in done.stdout
    html, log = dump_dom(page)
    assert not log, log  # nothing refused by the page's own policy
    assert "rope-missing-minus" in html and "of 26 points" in html
    assert re.search(r'id="theme"[^>]*>(Dark|Light) colours<', html)
    assert "all is right at feature 1, 3, 5" in html


# --------------------------------------------------------------------------------- the real model


class Refused:
    """A student's functions that do not end well."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def load_model(self, config, params):
        raise self._error


@pytest.fixture
def model_folder(tmp_path, monkeypatch):
    """A model without weights; its tokens are their numbers."""
    (tmp_path / "config.json").write_text('{"n_layers": 1}')
    monkeypatch.setattr(real_text, "_model_folder", lambda: tmp_path)
    monkeypatch.setattr(real_text, "read_safetensors", lambda path: ({}, {}))
    monkeypatch.setattr(real_text, "text_of", lambda file, tokens: " ".join(map(str, tokens)))


def test_the_text_at_home(model_folder, monkeypatch):
    right = right_text().tokens
    for tokens, is_right in ((right, True), (right[:3], True), ((*right[:3], 0), False)):
        monkeypatch.setattr(real_text, "greedy", lambda *_, tokens=tokens, **__: list(tokens))
        assert text_at_home(None, contextlib.nullcontext).is_right == is_right


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(), RecursionError()])
def test_what_stops_gives_no_text(model_folder, error):
    text = text_at_home(Refused(error), contextlib.nullcontext)
    assert text.own == "" and not text.is_right and text.expected


def test_the_right_text_is_the_reference_s():
    folder = smollm2.find()
    if folder is None:
        pytest.skip("SmolLM2-135M is not installed")
    content = json.loads(real_text.TEXT_FILE.read_text(encoding="utf-8"))
    assert authoring.make(folder) == content


def test_a_part_that_was_never_started_is_one_row():
    def stub(section: str) -> Outcome:
        return replace(passed(section), state=NOT_STARTED, needs=f"{section} x")

    begun = [passed("1.1"), stub("1.2")]
    rows = Page(page_of(*begun, stub("3.1"), stub("3.2"), stub("7.1"))).text()
    table = rows[rows.index("All tests") :]
    assert "1.1 softmax" in table and "1.2 softmax" in table and "7.1 softmax" in table
    assert "3 Rotary positions (RoPE): not started0 of 20 of 4" in table
    assert "3.1 softmax" not in table
