"""A student's own run: what ends it, what a failure shows, and pytest's usual options."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_page import failed, passed

from assignment.harness import limit, shown, words
from assignment.harness.at_home import bounded, packed, unpacked
from assignment.harness.compare import Mismatch, check_array
from assignment.harness.outcome import FAILED, NOT_STARTED, Outcome
from assignment.harness.points import Grading
from assignment.harness.student import ImportFailure
from assignment.harness.watch import runs as runs_module
from assignment.harness.watch.board import Board
from assignment.harness.watch.main import Watch
from assignment.harness.watch.runs import Runs
from assignment.harness.watch.screen import _cut
from assignment.harness.watch.touched import ALL, changed, parts_touched, snapshot
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


# ---- `python -m assignment.watch`: which parts a save touches, what is shown, and a real termin

# Longer than anything takes, on any machine.
PATIENCE = 90


# ------------------------------------------------------------------------------ what a save touches


@pytest.mark.parametrize(
    ("names", "own", "others"),
    [
        (["rope.py"], [3], [4, 5, 6]),
        (["attention.py"], [1, 2], [4, 5, 6, 7]),
        (["gqa.py"], [5], [4]),
        (["sampling.py", "word2vec.py"], [7, 9], []),
        (["decode_torch_notes.py"], [], []),
        (["transformer.py"], list(ALL), []),
        (["harness/plugin.py", "rope.py"], list(ALL), []),
    ],
)
def test_the_parts_of_a_save(names, own, others):
    assert parts_touched(names, ROOT / "assignment") == (own, others)


def test_a_helper_s_save_is_one_of_those_who_import_it(tmp_path):
    (tmp_path / "rope.py").write_text("from .angles import turn\n")
    (tmp_path / "angles.py").write_text("from . import tables\n")
    (tmp_path / "attention.py").write_text("import numpy\n")
    assert parts_touched(["tables.py"], tmp_path) == ([3], [4, 5, 6])
    assert parts_touched(["other.py"], tmp_path) == ([], [])


def test_what_counts_as_saved(tmp_path):
    before = snapshot(tmp_path)
    for name in ("rope.py", "decode_torch.py", "notes.txt", "__pycache__/rope.py", ".#gqa.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    now = snapshot(tmp_path)
    assert changed(before, now) == ["rope.py"] and changed(now, before) == ["rope.py"]


# ------------------------------------------------------------------------------------ what is shown


def shown_lines(board: Board, columns: int = 110, rows: int = 45) -> str:
    lines = board.lines(columns, rows)
    assert len(lines) <= rows
    return "\n".join("".join(text for text, _ in line) for line in lines)


def board_of(*runs: list) -> Board:
    board = Board()
    for outcomes in runs:
        board.begin([o.grading.part for o in outcomes], "saved")
        board.collected([o.test for o in outcomes])
        for outcome in outcomes:
            board.add(outcome)
    return board


def test_the_newest_failure_comes_first():
    test = "assignment/test_part7_sampling.py::test_top_p"
    new = failed(test=test, message="new", grading=Grading("7.3", 2, "top_p"))
    board = board_of([passed("1.1"), failed()], [new])
    text = shown_lines(board)
    assert text.index("✗ 7.3  top_p") < text.index("✗ 4.3") and "1 more failure:" in text
    for _ in range(2):
        board.next_hint()
    assert "Part 7, Sampling, hint 2 of 3" in shown_lines(board)
    board.add(failed(message="other words"))
    lines = shown_lines(board).splitlines()
    assert "✗ 4.3" in lines[14] and "hint" not in lines[16]


def test_a_file_that_is_no_python_is_one_line():
    failure = ImportFailure("not_python", "rope", "rope.py", 3, problem="invalid syntax")
    outcome = failed(message="rope.py line 3 is not valid", import_failure=failure)
    text = shown_lines(board_of([outcome]))
    assert "✗ rope.py\n" in text and text.count("line 3") == 1


def test_a_part_that_has_ended_is_no_longer_marked():
    board = board_of([passed("1.1"), failed()])
    board.begin([1, 4], "again")
    assert shown_lines(board).count("▸") == 2
    board.collected([passed("1.1").test, failed().test])
    board.add(passed("1.1"))
    assert board.running == [4] and shown_lines(board).count("▸") == 1


def test_the_next_stub_and_the_end():
    stub = failed(state=NOT_STARTED, needs="4.3 decode_step", difference=None)
    assert "Next: 4.3 decode_step" in shown_lines(board_of([passed("1.1"), stub]))
    board = board_of([passed("1.1")])
    assert "Every test passed." in shown_lines(board)


def test_a_small_window_shows_what_is_open_and_the_hint():
    board = board_of([passed("1.1"), failed(message="words\n" * 20)])
    board.next_hint()
    text = shown_lines(board, columns=80, rows=24)
    assert (
        "Part 1 " not in text and "Part 4 " in text and "Part 4, KV cache and decode, hint" in text
    )
    assert "Part 1 " in shown_lines(board)


def test_a_small_window_and_strange_signs():
    board = board_of([failed(message="\x1b[2Jx\n" * 99, printed="\x07")])
    text = shown_lines(board, columns=40, rows=24)
    assert "\x1b" not in text and "\x07" not in text and text.endswith("q: quit")
    assert _cut("一二三四五", 7) == "一二三…" and _cut("abc", 0) == "abc"


class NoRuns:
    """Keeps what it is asked for."""

    number = 0

    def __init__(self) -> None:
        self.started: list[list[int]] = []

    def start(self, parts) -> None:
        self.started.append(list(parts))

    def close(self) -> None:
        self.started.append([])


def test_a_save_during_a_run_goes_on_with_what_was_left():
    watch = Watch(runs := NoRuns())
    watch.on_saved(["rope.py"])
    watch.on_saved(["gqa.py"])
    watch.on_event({"run": 0, "kind": "code", "code": 1})
    watch.on_event({"run": 0, "kind": "ended"})
    assert runs.started == [[3], [5], [4, 3, 6]]
    for _ in range(3):
        watch.on_event({"run": 0, "kind": "ended"})
    assert runs.started[3:] == [[3, 6], [6]]
    assert "ended the process" in watch.board.trouble and watch.board.running == []
    watch.on_saved(["nobody.py"])
    assert "no part uses it" in watch.board.news and len(runs.started) == 5
    watch.on_saved(["test_part3_rope.py"])
    assert runs.started[5:] == [[], list(ALL)]
    watch.on_event({"run": 0, "kind": "broken", "why": "MemoryError"})
    assert watch.board.trouble.endswith("MemoryError")
    watch.on_key("q")
    assert watch.is_over


# -------------------------------------------------------------------------------------- the process


@pytest.mark.parametrize("has_fork", [True, False])
def test_a_run_tells_of_its_tests_and_ends(has_fork, monkeypatch):
    """Of the stubs. The first run is ended by the second, and says nothing any more."""
    monkeypatch.setattr(runs_module, "HAS_FORK", has_fork)
    events: queue.Queue = queue.Queue()
    runs = Runs(events.put, "en")
    try:
        runs.start([8, 9])
        runs.start([7])
        seen = [events.get(timeout=PATIENCE)]
        while seen[-1]["kind"] != "ended":
            seen.append(events.get(timeout=PATIENCE))
    finally:
        runs.close()
    assert {event["run"] for event in seen} == {2}
    assert all("test_part7_" in test for test in seen[0]["tests"])
    kinds = [event["kind"] for event in seen]
    assert kinds == ["tests", *["outcome"] * len(seen[0]["tests"]), "code", "ended"]


# ------------------------------------------------------------------------------------- the terminal


class Terminal:
    """A pseudo-terminal with the watch in it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        import fcntl
        import pty
        import termios

        self.output = ""
        self._process, self._master = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            kept = {name: v for name, v in os.environ.items() if name not in ("COLUMNS", "LINES")}
            # Handed on by name: readline, which pytest imports, sets others behind Python's back.
            environment = kept | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
            command = [sys.executable, "-m", "assignment.watch", *arguments]
            os.execve(sys.executable, command, environment)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 110, 0, 0))
        self.modes = termios.tcgetattr(self._master)

    def wait_for(self, pattern: str) -> None:
        """Read until what is new in the output matches."""
        start, until = len(self.output), time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if select.select([self._master], [], [], 0.1)[0]:
                self._read()
            if re.search(pattern, re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]", "", self.output[start:])):
                return
        raise AssertionError(f"{pattern} did not come; the end of it: {self.output[-3000:]}")

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """The exit code, once it has ended; the terminal as it is left is compared."""
        import termios

        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            ended, status = os.waitpid(self._process, os.WNOHANG)
            if ended:
                assert termios.tcgetattr(self._master)[3] == self.modes[3]
                return os.waitstatus_to_exitcode(status)
            if select.select([self._master], [], [], 0.1)[0]:
                self._read()
        raise AssertionError("it did not end")

    def close(self) -> None:
        try:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        except OSError:
            pass
        os.close(self._master)

    def _read(self) -> None:
        try:
            self.output += os.read(self._master, 1 << 16).decode(errors="replace")
        except OSError:  # it has ended
            time.sleep(0.05)


@pytest.fixture
def course(tmp_path):
    """The homework, finished, with a known bug in rope.py."""
    folder = tmp_path / "course"
    shutil.copytree(ROOT / "assignment", folder / "assignment")
    for path in (ROOT / "solution").glob("*.py"):
        shutil.copy(path, folder / "assignment")
    texts = patched_modules(bug_named("rope-missing-minus"), ROOT / "solution")
    (folder / "assignment" / "rope.py").write_text(texts["rope"], "utf-8")
    return folder


def test_parts_behind_one_that_ended_the_process_are_run_all_the_same():
    started = []
    watch = Watch(SimpleNamespace(number=2, start=lambda parts: started.append(list(parts))))
    watch.begin([3], [4, 5], "saved")
    watch.board.running.remove(3)
    watch.on_event({"run": 1, "kind": "ended"})  # of a run before this one
    for event in ({"kind": "code", "code": 1}, {"kind": "ended"}, {"kind": "ended"}):
        watch.on_event({"run": 2} | event)
    assert started == [[3], [4, 5], [5]]
    assert "ended the process" in watch.board.trouble


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no pseudo-terminals here")
def test_a_real_terminal_and_real_saves(course):
    rope = course / "assignment" / "rope.py"
    wrong, right = rope.read_text("utf-8"), (ROOT / "solution" / "rope.py").read_text("utf-8")
    terminal = Terminal(course, "--poll")
    try:
        terminal.wait_for(r"Part 3 .* 11 failed[\s\S]*no minus sign[\s\S]*q: quit")
        terminal.press("h")
        terminal.wait_for("rope-missing-minus, hint 1 of 3")
        for text, told in (
            ("def apply_rope(\n", "rope.py line 1 is not valid Python"),
            ("", "rope.py is empty"),
            ("import os\nos._exit(3)\n", "your code ended the process"),
            (None, "rope.py is not there"),
            (wrong, "no minus sign"),
        ):
            rope.write_text(text, "utf-8") if text is not None else rope.unlink()
            terminal.wait_for(told)
        rope.write_text(right, "utf-8")
        terminal.wait_for(r"Part 3 .* 14 / 14 +done[\s\S]*130 / 130")
        terminal.press("\x03")
        assert terminal.end() == 0
    finally:
        terminal.close()
    assert "Traceback" not in terminal.output
    assert re.search(r"130 of 130 points\s*$", terminal.output)


@pytest.fixture(autouse=True)
def english():
    words.speak("en")
    yield
    words.speak(None)
