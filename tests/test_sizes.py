"""The house stays small enough to know: short modules, few of them at the door."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULE_LINES = 400  # of a module that a hand wrote, tests apart
LONGER_FOR_NOW = {
    "grader/sandbox/remote.py",
    "grader/sandbox/worker.py",
}
AT_THE_DOOR = 8  # modules directly in grader/
FILES = 680


def tracked(*patterns: str) -> list[str]:
    """The paths that git knows, by pathspec."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if (ROOT / path).is_file()]


def n_lines(path: str) -> int:
    return (ROOT / path).read_bytes().count(b"\n")


def test_no_module_is_longer_than_it_may_be():
    written = tracked("*.py", ":(exclude)tests/", ":(exclude,attr:linguist-generated)")
    assert {path for path in written if n_lines(path) > MODULE_LINES} == LONGER_FOR_NOW


def test_the_rooms_hold_what_the_grader_is_made_of():
    assert len(tracked(":(glob)grader/*.py")) <= AT_THE_DOOR


def test_the_files_can_still_be_counted():
    assert len(tracked()) <= FILES
