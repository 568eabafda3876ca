"""The command that compares two commits' verdicts, on repositories whose grader is a stand-in."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rich", reason="the grader is not installed")
sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks/ is not installed
from benchmarks.same_verdicts import __main__ as command
from benchmarks.same_verdicts import records, trees

# Grades what stands in a submission's points.txt, or runs it where that is a program.
GRADER = """
import argparse, json, pathlib, sys, time

parser = argparse.ArgumentParser()
parser.add_argument("run")
parser.add_argument("paths", nargs="+", type=pathlib.Path)
for option in ("--out", "--secret-file", "--limits", "--jobs"):
    parser.add_argument(option, type=pathlib.Path)
for flag in ("--quiet", "--no-real-model"):
    parser.add_argument(flag, action="store_true", required=True)
options = parser.parse_args()
assert len(options.secret_file.read_text()) == 64 and "seconds" in options.limits.read_text()
for path in options.paths:
    for submission in [path] if (path / "points.txt").exists() else sorted(path.iterdir()):
        points = float((submission / "points.txt").read_text())
        CHANGE
        record = {
            "schema_version": 1, "student": submission.name, "source": submission.name,
            "state": "graded", "total": points, "seconds": time.monotonic(),
            "graded_at": str(time.time()), "notes": [],
            "tests": [
                {"id": "test_a", "points": points, "message": f"in {options.out}, {__file__}"},
                {"id": "test_b", "points": 0.0, "message": "", "seconds": time.monotonic()},
            ],
        }
        AFTER
        (options.out / f"{submission.name}.json").write_text(json.dumps(record))
"""
ARENA = """
def lay_out(folder, out):
    for name in ("fork_bomb", "just_in_time"):
        (folder / name).mkdir(parents=True)
        (folder / name / "points.txt").write_text("5")
"""


class Repository:
    """A repository with a class of two, and a hostile corpus of two."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.write("grader/__init__.py", "")
        self.grader()
        self.write("tests/hostile/__init__.py", "")
        self.write("tests/hostile/arena.py", ARENA)
        self.write("examples/submissions/ana/points.txt", "3")
        self.write("examples/submissions/bob/points.txt", "4")
        self.git("init", "--quiet")
        self.git("add", ".")
        who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        self.git(*who, "commit", "--quiet", "--message", "first")

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder, check=True)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def grader(self, change: str = "pass", after: str = "pass") -> None:
        """Make the working tree's grader another one."""
        self.write("grader/__main__.py", GRADER.replace("CHANGE", change).replace("AFTER", after))

    def compare(self, *arguments: str) -> int:
        sections = () if "--only" in arguments else ("--only", "class")
        return command.main(["HEAD", *sections, *arguments], self.folder)


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "repository")


def test_equal_apart_from_times_and_places(repository, capsys):
    assert repository.compare("--only", "class,hostile") == 0
    told = capsys.readouterr().out
    assert "sample class: 2 submissions: equal" in told
    assert "hostile corpus: 2 submissions: equal" in told


def test_changed_points_are_told_with_who_and_where(repository, capsys):
    repository.grader("points += submission.name == 'bob'")
    assert repository.compare() == 1
    told = capsys.readouterr().out
    assert "sample class: 2 submissions: 1 of 2 DIFFER" in told
    assert "tests[].points: 1 differences in 1 records" in told
    assert "OLD 4.0\n    NEW 5.0\n      in 'bob' test_a" in told
    assert "again: 'bob' differs when graded alone as well" in told
    assert "ana" not in told


def test_the_same_change_is_told_once(repository, capsys):
    repository.grader(after="record['state'] = 'partial'")
    assert repository.compare() == 1
    assert "in 'ana' and 1 more" in capsys.readouterr().out


def test_a_field_of_one_side_counts_unless_it_is_allowed(repository, capsys):
    repository.grader(after="record['tests'][0]['twin'] = 'hidden'")
    assert repository.compare() == 1
    assert "only in NEW: tests[].twin (in 2 records)" in capsys.readouterr().out
    assert repository.compare("--allow-field", "twin") == 0
    assert "allowed: tests[].twin in 2 records" in capsys.readouterr().out


def test_notes_that_became_objects_are_allowed_as_a_whole(repository, capsys):
    repository.grader(after="record['notes'] = [{'kind': 'late', 'days': 2}]")
    assert repository.compare() == 1
    assert "OLD []" in capsys.readouterr().out
    assert repository.compare("--allow-field", "notes") == 0


def test_a_record_and_a_test_on_one_side_are_told(repository, capsys):
    repository.grader("if submission.name == 'ana': continue", "del record['tests'][1]")
    assert repository.compare() == 1
    told = capsys.readouterr().out
    assert "record: 1 differences" in told
    assert "in 'bob' test_b" in told


def test_the_order_of_the_tests_counts(repository, capsys):
    repository.grader(after="record['tests'].reverse()")
    assert repository.compare() == 1
    assert "tests order" in capsys.readouterr().out


def test_of_the_hostile_corpus_only_state_and_points_count(repository, capsys):
    repository.grader(after="record['tests'][0]['message'] = record['new'] = 'other'")
    assert repository.compare("--only", "hostile") == 0
    repository.grader("points = 0")
    assert repository.compare("--only", "hostile") == 1
    told = capsys.readouterr().out
    assert "'fork_bomb'" in told
    assert "just_in_time" not in told  # its points are a race
    repository.grader(after="record['state'] = 'error'")
    assert repository.compare("--only", "hostile") == 1
    assert "and 1 more" in capsys.readouterr().out


def test_what_is_equal_when_graded_alone_has_raced(repository, tmp_path, capsys):
    """The stand-in is wrong the first time it grades."""
    mark = tmp_path / "graded-once"
    seen = f"mark = pathlib.Path({str(mark)!r}); points += not mark.exists()"
    repository.grader(seen, "(submission.name == 'bob') and mark.touch()")
    assert repository.compare("--names", "bob") == 0
    assert "raced: 'bob' differed, and was equal alone (try 1)" in capsys.readouterr().out


def test_kept_results_are_not_graded_again(repository, tmp_path, capsys):
    keep = tmp_path / "kept"
    assert repository.compare("--keep", str(keep), "--old-alone") == 0
    record = keep / "results" / "old" / "class" / "ana.json"
    record.write_text(record.read_text().replace('"total": 3.0', '"total": 2.0'))
    # Alone both grade it, and then they agree: shown by a field that the retry cannot mend.
    assert repository.compare("--from", str(keep)) == 0
    assert "raced: 'ana'" in capsys.readouterr().out
    assert repository.compare("--from", str(keep), "--names", "bob") == 0
    assert "1 submissions: equal" in capsys.readouterr().out


def test_kept_results_of_another_commit_or_section_are_refused(repository, tmp_path, capsys):
    keep = tmp_path / "kept"
    assert repository.compare("--keep", str(keep)) == 0
    assert repository.compare("--from", str(keep), "--only", "hostile") == 2
    assert "holds no hostile corpus" in capsys.readouterr().err
    assert repository.compare("--keep", str(keep)) == 2
    assert "is not empty" in capsys.readouterr().err
    (keep / "kept.json").write_text(json.dumps({"commit": "0" * 40}))
    assert repository.compare("--from", str(keep)) == 2
    assert "was kept of 0000" in capsys.readouterr().err


def test_an_unknown_commit_is_a_sentence(repository, capsys):
    assert command.main(["no-such-commit"], repository.folder) == 2
    assert "There is no commit 'no-such-commit'" in capsys.readouterr().err


def test_a_grader_that_fails_shows_its_last_lines(repository, capsys):
    repository.grader("print('no sandbox here'); sys.exit(2)")
    assert repository.compare() == 2
    told = capsys.readouterr().err
    assert "NEW (working tree): grading the sample class ended with 2.\n  no sandbox here" in told


def test_packages_of_another_place_are_refused(repository, capsys):
    """As an installed grader, where the tree's own steps aside."""
    repository.write("grader/__init__.py", "__file__ = '/usr/lib/grader/__init__.py'\n")
    assert repository.compare() == 2
    assert "imports /usr/lib/grader/__init__.py, which is not in" in capsys.readouterr().err


def test_each_side_grades_with_its_own_packages(repository):
    """Also of a file that git does not know yet."""
    repository.write("grader/bonus.py", "POINTS = 1\n")
    repository.grader("from grader.bonus import POINTS; points += POINTS")
    assert repository.compare() == 1


def test_an_interrupted_grader_is_ended_and_nothing_is_left(repository, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    repository.grader(
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(__import__('os').getpid()));"
        " time.sleep(600)"
    )

    def interrupt(seconds):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            raise KeyboardInterrupt

    monkeypatch.setattr(trees.time, "sleep", interrupt)
    assert repository.compare() == 130
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_values_are_shown_from_where_they_part():
    old, new = records.excerpts("x" * 200 + "A", "x" * 200 + "B")
    assert old.startswith("…x") and old.endswith('A"')
    assert new.endswith('B"')
    assert records.excerpts(records.ABSENT, "\x1b[2J") == ("absent", '"\\u001b[2J"')


def test_a_race_does_not_hide_a_lasting_difference(repository, tmp_path, capsys):
    mark = tmp_path / "graded-once"
    seen = f"mark = pathlib.Path({str(mark)!r}); points += not mark.exists()"
    repository.grader(seen, "mark.touch(); record['new'] = 1")
    assert repository.compare("--names", "bob") == 1
    told = capsys.readouterr().out
    assert "only in NEW: new (in 1 records)" in told
    assert "raced: 'bob'" in told
    assert "total" not in told


def test_two_commits_are_compared_whatever_the_working_tree_is(repository, capsys):
    repository.grader("points = 0")
    assert repository.compare("HEAD") == 0
    assert "sample class: 2 submissions: equal" in capsys.readouterr().out


def test_a_tree_that_makes_its_sample_class_is_asked_for_it(repository, capsys):
    repository.write(
        "examples/__main__.py",
        "import pathlib, sys\n"
        "made = pathlib.Path(sys.argv[1], 'cyd')\n"
        "made.mkdir(parents=True)\n"
        "(made / 'points.txt').write_text('1')\n",
    )
    repository.git("add", ".")
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    repository.git(*who, "commit", "--quiet", "--message", "second")
    repository.grader("points = 2")
    assert repository.compare() == 1
    assert "in 'cyd' test_a" in capsys.readouterr().out
