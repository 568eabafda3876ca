"""`python -m assignment.watch`: which parts a save touches, what is shown, and a real terminal."""

from __future__ import annotations

import os
import queue
import re
import select
import shutil
import signal
import struct
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_page import failed, passed

from assignment.harness import words
from assignment.harness.outcome import NOT_STARTED
from assignment.harness.points import Grading
from assignment.harness.student import ImportFailure
from assignment.harness.watch import runs as runs_module
from assignment.harness.watch.board import Board
from assignment.harness.watch.main import Watch
from assignment.harness.watch.runs import Runs
from assignment.harness.watch.screen import _cut
from assignment.harness.watch.touched import ALL, changed, parts_touched, snapshot
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import patched_modules

ROOT = Path(__file__).parent.parent
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


def shown(board: Board, columns: int = 110, rows: int = 45) -> str:
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
    text = shown(board)
    assert text.index("✗ 7.3  top_p") < text.index("✗ 4.3") and "1 more failure:" in text
    for _ in range(2):
        board.next_hint()
    assert "Part 7, Sampling, hint 2 of 3" in shown(board)
    board.add(failed(message="other words"))
    assert "✗ 4.3" in shown(board).splitlines()[14] and "hint" not in shown(board).splitlines()[16]


def test_a_file_that_is_no_python_is_one_line():
    failure = ImportFailure("not_python", "rope", "rope.py", 3, problem="invalid syntax")
    outcome = failed(message="rope.py line 3 is not valid", import_failure=failure)
    text = shown(board_of([outcome]))
    assert "✗ rope.py\n" in text and text.count("line 3") == 1


def test_a_part_that_has_ended_is_no_longer_marked():
    board = board_of([passed("1.1"), failed()])
    board.begin([1, 4], "again")
    assert shown(board).count("▸") == 2
    board.collected([passed("1.1").test, failed().test])
    board.add(passed("1.1"))
    assert board.running == [4] and shown(board).count("▸") == 1


def test_the_next_stub_and_the_end():
    stub = failed(state=NOT_STARTED, needs="4.3 decode_step", difference=None)
    assert "Next: 4.3 decode_step" in shown(board_of([passed("1.1"), stub]))
    board = board_of([passed("1.1")])
    assert "Every test passed." in shown(board)


def test_a_small_window_shows_what_is_open_and_the_hint():
    board = board_of([passed("1.1"), failed(message="words\n" * 20)])
    board.next_hint()
    text = shown(board, columns=80, rows=24)
    assert (
        "Part 1 " not in text and "Part 4 " in text and "Part 4, KV cache and decode, hint" in text
    )
    assert "Part 1 " in shown(board)


def test_a_small_window_and_strange_signs():
    board = board_of([failed(message="\x1b[2Jx\n" * 99, printed="\x07")])
    text = shown(board, columns=40, rows=24)
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
