"""A student's own run: what ends it, what a failure shows, and pytest's usual options."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from assignment.harness import limit, shown
from assignment.harness.at_home import bounded, packed, unpacked
from assignment.harness.compare import Mismatch, check_array
from assignment.harness.outcome import FAILED, Outcome
from assignment.harness.points import Grading
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import Change, apply_change, patched_modules

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def homework(tmp_path):
    """Makes a folder as a student has it, finished, with lines put first in some functions."""

    def make(lines: dict[tuple[str, str], str], bug: str = "") -> Path:
        folder = tmp_path / "course"
        shutil.copytree(ROOT / "assignment", folder / "assignment")
        for path in (ROOT / "solution").glob("*.py"):
            shutil.copy(path, folder / "assignment")
        texts = patched_modules(bug_named(bug), ROOT / "solution") if bug else {}
        for (module, function), line in lines.items():
            path = folder / "assignment" / f"{module}.py"
            begin = "    ### BEGIN SOLUTION\n"
            change = Change(where=function, old=begin, new=f"{begin}    {line}\n")
            texts[module] = apply_change(texts.get(module) or path.read_text("utf-8"), change)
        for module, text in texts.items():
            (folder / "assignment" / f"{module}.py").write_text(text, "utf-8")
        return folder

    return make


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """pytest as a student calls it in this folder."""
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)


@pytest.mark.slow
def test_what_ends_a_run_is_told_and_the_rest_goes_on(homework):
    folder = homework(
        {
            ("sampling", "apply_temperature"): "while True: pass",
            ("rope", "rope_frequencies"): "raise SystemExit",
            ("attention", "softmax"): "raise KeyboardInterrupt",
            ("gqa", "mean_pool_kv_heads"): "return mean_pool_kv_heads(w, n_heads, n_kv_heads)",
        }
    )
    arguments = ["assignment/", "-k", "temperature or top_k or frequencies or softmax or mean_pool"]
    done = run(folder, *arguments, "-p", "no:cacheprovider", "--call-seconds", "0.5", "-v")
    output = done.stdout
    assert done.returncode == 1
    assert len(re.findall("top_k.* PASSED", output)) >= 2  # Part 7 goes on
    short = run(folder, "assignment/", "-k", "softmax", "-p", "no:cacheprovider").stdout
    assert "the code raises KeyboardInterrupt" in short and "attention.py:" in short
    short = run(folder, "assignment/", *arguments[1:], "--call-seconds", "0.5").stdout
    assert "the code ends the program: sys.exit, exit or quit is called\n    rope.py:" in short
    short = run(folder, "assignment/", "-k", "mean_pool or temperature", "--call-seconds", "1")
    assert "RecursionError: mean_pool_kv_heads calls itself" in short.stdout
    assert re.search(r"no end after 1 s.*\n.*\n +sampling.py:\d+ in apply_temp", short.stdout)


def test_the_chain_begins_where_the_test_called_and_shows_prints(homework):
    folder = homework(
        {
            ("kv_cache", "decode_step"): "token = token[None]; print('shape', token.shape)",
        }
    )
    output = run(folder, "assignment/", "-k", "test_decode and part4 and mha").stdout
    first = output[output.index("✗ 4.3") :].splitlines()[2]
    assert first.strip().startswith("kv_cache.py:") and "[" in first
    assert "it printed:\n    | shape (1, " in output


@pytest.mark.slow
def test_several_processes_give_the_same_table_and_exit_code(homework):
    folder = homework({("sampling", "top_k"): "print(1)"}, bug="rope-missing-minus")
    selected = ["assignment/", "-k", "part2 or part3 or part7", "-p", "no:cacheprovider"]
    alone, spread = run(folder, *selected), run(folder, *selected, "-n", "2")
    assert alone.returncode == spread.returncode == 1
    assert alone.stdout[alone.stdout.index("Attention") :].rstrip() in spread.stdout
    unfilled = run(ROOT, "assignment/", "-k", "part7", "-p", "no:cacheprovider", "-n", "2")
    assert unfilled.returncode == 1 and re.search(r"0 / 6 +not started", unfilled.stdout)


@pytest.mark.slow
def test_the_usual_options(homework):
    folder = homework({}, bug="rope-missing-minus")
    part3 = "test_part3_rope.py"
    inside = run(folder / "assignment", part3, "-q")
    assert f"run it alone: pytest {part3}::test_rope\n" in inside.stdout
    assert inside.returncode == 1 and re.search(r"Total +\d+ / 14", inside.stdout)
    run(folder, "assignment/", "-k", "part1 or part3")
    again = run(folder, "assignment/", "--lf", "-x")
    assert "Part 3" in again.stdout and "Part 1 " not in again.stdout
    assert "Stopped early: " in again.stdout
    one = run(folder, f"assignment/{part3}::test_rope_frequencies", "-p", "no:randomly")
    assert one.returncode == 0 and re.search(r"Total +(\d+) / \1\b", one.stdout)
    listed = run(folder, "assignment/", "--co", "-q", "-k", "part3")
    assert f"assignment/{part3}::test_rope_frequencies" in listed.stdout
    assert "Total" not in listed.stdout


def test_ctrl_c_shows_the_table_so_far(homework):
    line = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    folder = homework({("sampling", "top_k"): line})
    output = run(folder, "assignment/", "-k", "part3 or part7").stdout
    assert re.search(r"Part 3 .*14 / 14 +done", output)
    assert re.search(r"Part 7 .* right so far\n\n +Total", output)
    assert re.search(r"Stopped early: \d+ tests have not run", output)
    assert "sampling.py:" in output.split("KeyboardInterrupt", 1)[1]


def test_where_no_timer_is_a_thread_names_the_test_and_ends_the_run(monkeypatch):
    said, ended = [], threading.Event()
    monkeypatch.delattr(signal, "setitimer")
    monkeypatch.setattr(os, "_exit", lambda code: ended.set())
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "test_x.py::test_y (call)")
    watch = limit.CallLimit(0.01, said.append)
    with watch.test(), watch.call():
        assert ended.wait(60)
    assert said[0].startswith("no end after 0.01 s") and "test_x.py::test_y" in said[1]


def test_what_catches_everything_is_stopped_too():
    def code():
        while True:
            with contextlib.suppress(Exception):
                sum(range(1000))

    watch = limit.CallLimit(0.01, print)
    with pytest.raises(limit.TookTooLong), watch.test(), watch.call():
        code()


def test_no_limit_is_none():
    watch = limit.CallLimit(0, print)
    with watch.test(), watch.call():
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize(
    ("got", "expected", "texts"),
    [
        (1.0, 2.0, ("1", "2")),
        (-0.410044123, -0.410044129, ("-0.41004412", "-0.41004413")),
        (0.1, 0.1 + 2**-55, ("0.10000000000000001", "0.10000000000000003")),
    ],
)
def test_numbers_have_the_digits_they_differ_in(got, expected, texts):
    assert shown.told_apart(got, expected) == texts


@pytest.mark.parametrize(("error", "told"), [(3e-8, True), (9e-7, True), (1e-5, False)])
def test_precision_is_said_as_precision(error, told):
    expected = np.linspace(-1, 1, 7)
    with pytest.raises(Mismatch) as caught:
        check_array(expected + error, expected, "x")
    assert ("this is float32's precision" in str(caught.value)) == told


def test_a_small_array_is_shown_whole():
    expected = np.array([[1.5, -np.inf], [3.0, 4.0]])
    got = np.array([[1.5, -np.inf], [3.25, 4.0]])
    with pytest.raises(Mismatch) as caught:
        check_array(got, expected, "x")
    cells = caught.value.side_by_side.lines()
    lines = ["".join(cell.text for cell in row).rstrip() for row in cells]
    assert lines == [
        " got            expected",
        "  1.5  -inf      1.5  -inf",
        " 3.25*    4        3     4",
    ]
    assert [cell.text for row in cells for cell in row if cell.wrong] == [" 3.25*"]


@pytest.mark.parametrize("shape", [(9, 2), (2, 9), (2, 3, 3), (0,)])
def test_others_are_not(shape):
    assert shown.SideBySide.of(np.ones(shape), np.zeros(shape), np.ones(shape, bool)) is None


def test_an_outcome_travels_whole():
    array = np.array([[np.nan, -np.inf, 1 / 3]])
    beside = shown.SideBySide.of(array, np.zeros((1, 3)), np.ones((1, 3), bool))
    sent = Outcome(
        "test", Grading("1.1", 2, "title"), FAILED, "why", got=array, side_by_side=beside
    )
    got = unpacked(packed(sent))
    assert np.array_equal(got.got, array, equal_nan=True) and got.got.dtype == array.dtype
    assert got.side_by_side.lines() == beside.lines()
    assert (got.grading, got.message, got.error_by_step) == (sent.grading, "why", ())


def test_what_is_printed_is_bounded():
    text = bounded("\n".join(["x" * 1000] * 1000))
    assert len(text) < 2000 and text.endswith("\n…")
