"""Nothing lost: kills, full and read-only disks, damaged records, changed work and suites."""

import csv
import errno
import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from grader import grade_class as grader_run
from grader.base.errors import GraderError, Interrupted
from grader.base.notes import in_words
from grader.cli import main
from grader.reports.changes import changes_csv
from grader.results import history, summary
from grader.results.changes import mixed_class, read_changes
from grader.results.disk import require_space
from grader.results.history import HISTORY, earlier_records, replace_record
from grader.results.record import (
    TestResult,
    make_result,
    read_record,
    record_path,
    remove_drafts,
    write_record,
)
from grader.running import child, handed_in, locks, pool
from grader.running.protocols import GradingSuite

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
STUDENTS = ("ana", "bob", "cyd")


@pytest.fixture(scope="module", autouse=True)
def stub_grader():
    """The stand-in suite, importable here and in the children."""
    sys.path.insert(0, str(BENCHMARKS))
    import stub_grader

    yield stub_grader
    sys.path.remove(str(BENCHMARKS))


@dataclass
class Classroom:
    """A class, its results, and a grader whose suite is a stand-in named by `suite`."""

    place: Path
    monkeypatch: pytest.MonkeyPatch
    suite: str = "A"

    @property
    def folder(self) -> Path:
        return self.place / "class"

    @property
    def out(self) -> Path:
        return self.place / "results"

    def hand_in(self, *students: str, work: str = "first") -> None:
        for student in students:
            (self.folder / student).mkdir(parents=True, exist_ok=True)
            (self.folder / student / "attention.py").write_text(f"# {student} {work}\n")

    def grade(self, *paths: str, **options) -> str:
        """Grade the class, or some of its submissions; returns what was printed."""
        import stub_grader

        suite = stub_grader.StubSuite(self.suite)
        package = self.place / "package"
        course = grader_run.Course(package, ("attention",), ())

        def grading(out, course, secret, sandbox, regrade, *rest, **more):
            run = stub_grader.stub_run
            return child.Grading(out, run, suite, suite.hash, "1", course, regrade=regrade)

        def grade_all(*arguments, **more):
            return pool.grade_all(*arguments, **(more | {"preload": ("grader.running.pool",)}))

        console = Console(file=io.StringIO(), width=160)
        with self.monkeypatch.context() as patch:
            patch.setattr(grader_run.Course, "load", lambda: course)
            patch.setattr(grader_run, "_grading", grading)
            patch.setattr(grader_run, "_require_sandbox", lambda name, *rest: "stand-in")
            patch.setattr(grader_run, "grade_all", grade_all)
            patch.setattr(grader_run, "_complain", lambda line: console.print(line, soft_wrap=True))
            grader_run.grade_class(
                [self.folder / path for path in paths] or [self.folder],
                self.out,
                jobs=1,
                secret_file=self.place / "secret.hex",
                console=console,
                **options,
            )
        return console.file.getvalue()

    def record(self, student: str):
        result, note = read_record(self.out, student)
        assert result is not None, note
        return result

    def contents(self) -> dict[str, bytes]:
        return {path.stem: path.read_bytes() for path in self.out.glob("*.json")}

    def leftovers(self) -> list[str]:
        ours = (locks.LOCK_NAME, handed_in.FILE, summary.FILE)
        return [p.name for p in self.out.rglob(".*") if p.name not in ours]


@pytest.fixture
def classroom(tmp_path, monkeypatch) -> Classroom:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "attention.py").write_text("# stub\n")
    classroom = Classroom(tmp_path, monkeypatch)
    classroom.hand_in(*STUDENTS)
    return classroom


def a_result(student: str = "ana", points: float = 1.0, **changes):
    test = TestResult(
        id="t",
        part=1,
        section="1.1",
        title="softmax",
        visibility="public",
        points=points,
        max_points=2.0,
        state="failed",
    )
    fields = {
        "student": student,
        "source": f"{student}.zip",
        "submission_hash": "h",
        "suite_hash": "A",
        "suite_version": "1",
        "state": "graded",
        "tests": [test],
    }
    return make_result(**(fields | changes))


def at(result, second: int):
    return result.model_copy(update={"graded_at": datetime(2026, 3, 1, 10, 0, second, tzinfo=UTC)})


def totals(out: Path) -> list[tuple]:
    return [(c.student, c.old and c.old.total, c.new.total, c.why) for c in read_changes(out)]


# --------------------------------------------------------------------------------------- kill -9


def test_kills_at_random_moments_lose_nothing():
    command = [sys.executable, str(BENCHMARKS / "kill_grader.py")]
    done = subprocess.run(
        [*command, "--submissions", "12", "--kills", "5", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing lost in 5 kills" in done.stdout


def test_what_a_killed_run_changed_is_told_by_the_one_that_resumes_it(tmp_path):
    def begin_and_die() -> int:
        with pytest.raises(RuntimeError), locks.results_lock(tmp_path):
            began.append(locks.run_began_ns(tmp_path))
            raise RuntimeError  # leaves the lock as a kill does

    began: list[int] = []
    begin_and_die()
    begin_and_die()
    replace_record(tmp_path, at(a_result(), 1))
    with locks.results_lock(tmp_path):
        assert began == [locks.run_began_ns(tmp_path)] * 2
    with locks.results_lock(tmp_path):
        assert locks.run_began_ns(tmp_path) > began[0]
    # A kill between the two steps of signing leaves the rest of a longer line.
    lock = tmp_path / locks.LOCK_NAME
    lock.write_text('{"pid": 1, "host": "h", "since": "s", "began_ns": 5}\nhost": "longer"}\n')
    with locks.results_lock(tmp_path):
        assert locks.run_began_ns(tmp_path) == 5


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_write_that_fails_anywhere_leaves_each_record_whole(step, tmp_path, monkeypatch):
    """ENOSPC in the first, second, … call of a step while a record is replaced."""
    old, new = at(a_result(points=1.0), 1), at(a_result(points=2.0), 2)
    for number in range(20):
        out = tmp_path / str(number)
        out.mkdir()
        write_record(out, old)
        with monkeypatch.context() as patch:
            fail_in_call(patch, step, number)
            try:
                replace_record(out, new)
                failed = False
            except OSError as problem:
                assert problem.errno == errno.ENOSPC
                failed = True
        result, note = read_record(out, "ana")
        assert result in (old, new) and not note
        assert not list(out.rglob("*.tmp"))
        if result == new:
            assert [p.read_bytes() for p in earlier_records(out, "ana")]
        replace_record(out, new)
        assert read_record(out, "ana")[0] == new
        assert totals(out) == [("ana", 1.0, 2.0, "--regrade")]
        assert len(earlier_records(out, "ana")) == 1
        if not failed:
            break
    # Both files, and for fsync four folders too, were made to fail.
    assert number == {"open": 2, "fsync": 6, "replace": 2}[step]


def test_a_killed_write_leaves_its_draft_where_the_next_run_looks(tmp_path, monkeypatch):
    write_record(tmp_path, at(a_result(points=1.0), 1))
    drafts = []
    monkeypatch.setattr(Path, "replace", lambda draft, target: drafts.append(draft))
    replace_record(tmp_path, at(a_result(points=2.0), 2))
    assert len(drafts) == 2 and all(draft.exists() for draft in drafts)
    remove_drafts(tmp_path)
    assert not any(draft.exists() for draft in drafts)


def fail_in_call(patch: pytest.MonkeyPatch, step: str, number: int) -> None:
    owner, name = {
        "open": (Path, "open"),
        "fsync": (os, "fsync"),
        "replace": (Path, "replace"),
    }[step]
    plain, calls = getattr(owner, name), iter(range(1000))

    def failing(*arguments, **options):
        if (step != "open" or "xb" in arguments) and next(calls) == number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return plain(*arguments, **options)

    patch.setattr(owner, name, failing)


# ------------------------------------------------------------------------------------------ disk


@pytest.mark.parametrize("point", ["scratch", "lock", "record", "history"])
def test_a_full_disk_stops_the_run_with_a_sentence(point, classroom, monkeypatch):
    classroom.grade()
    before = classroom.contents()
    classroom.hand_in("bob", "cyd", work="second")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(*arguments, **options):
        raise full

    with monkeypatch.context() as patch:
        if point == "scratch":
            patch.setattr(tempfile, "mkdtemp", fail)
        elif point == "lock":
            patch.setattr(os, "pwrite", fail)
        elif point == "record":
            patch.setattr(history, "write_record", fail)
        else:
            patch.setattr(history, "write_atomically", fail)
        with pytest.raises(GraderError, match="no room left") as caught:
            classroom.grade()
    assert "The 3 results in it are whole. Free some space, then run the same" in str(caught.value)
    assert classroom.contents() == before
    assert not classroom.leftovers()
    assert "2 scores changed" in classroom.grade()
    assert [row[0] for row in totals(classroom.out)] == ["bob", "cyd"]


def test_a_failure_of_the_disk_is_no_error_of_a_submission(classroom, monkeypatch):
    """On a full disk every child fails; the records must not fill with errors."""
    classroom.grade()
    before = classroom.contents()
    classroom.suite = "B"
    monkeypatch.setattr(pool, "_result_of", lambda child: (None, False))

    def full(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pool, "require_space", full)
    with pytest.raises(GraderError, match="no room left"):
        classroom.grade()
    assert classroom.contents() == before


def test_the_probe_for_space_meets_what_a_record_would_and_leaves_nothing(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    require_space(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            require_space(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def start_grader(classroom: Classroom, **options) -> tuple[int, str]:
    """The exit code and the output of a grader in a process of its own."""
    import kill_grader

    grader = kill_grader.Grader(
        classroom.place, classroom.folder, classroom.out, jobs=2, real=False, suite=classroom.suite
    )
    code = grader.ended(grader.start(**options))
    return code, grader.said[-1]


def test_a_limit_on_file_sizes_stops_the_run_and_it_resumes(classroom):
    """Writes that fail for real, in the children and in the main process."""
    assert start_grader(classroom)[0] == 0
    before = classroom.contents()
    classroom.hand_in("dan", "eve")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    code, said = start_grader(classroom, preexec_fn=limited)
    assert code == 2, said
    assert "no room left for results" in said and "Traceback" not in said
    assert classroom.contents() == before
    assert not classroom.leftovers()
    code, said = start_grader(classroom)
    assert code == 0 and "(3 kept from an earlier run)" in said
    assert classroom.contents().keys() == {*STUDENTS, "dan", "eve"}
    assert classroom.contents().items() >= before.items()


@pytest.fixture
def small_disk(classroom):
    """The results folder as a disk of its own; yields a function that mounts it again."""
    classroom.out.mkdir()

    def mount(options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(classroom.out)]
        return shutil.which("mount") and not subprocess.run(command, capture_output=True).returncode

    if os.geteuid() != 0 or not mount("size=96k"):
        pytest.skip("mounting a small disk needs root and the right to mount")
    yield lambda options: mount(f"remount,{options}")
    subprocess.run(["umount", "--lazy", str(classroom.out)], check=True)


def test_a_disk_that_fills_up_keeps_whole_results_and_the_run_resumes(classroom, small_disk):
    students = [f"s{number:02}" for number in range(16)]
    classroom.hand_in(*students)
    code, said = start_grader(classroom)
    assert code == 2, said
    assert "no room left for results" in said and "Traceback" not in said
    kept = classroom.contents()
    assert 3 <= len(kept) < 19
    assert all(classroom.record(student).state == "graded" for student in kept)
    assert not classroom.leftovers()
    assert small_disk("size=8m")
    code, said = start_grader(classroom)
    assert code == 0 and f"({len(kept)} kept from an earlier run)" in said
    assert classroom.contents().keys() == {*STUDENTS, *students}
    assert classroom.contents().items() >= kept.items()


def test_a_read_only_disk_is_a_sentence_and_can_still_be_read(classroom, small_disk):
    assert small_disk("size=8m")
    classroom.grade()
    before = classroom.contents()
    classroom.hand_in("dan")
    assert small_disk("ro")
    with pytest.raises(GraderError, match=r"cannot be written.*Read-only.*another folder"):
        classroom.grade()
    assert classroom.contents() == before
    shown = CliRunner().invoke(main.app, ["changes", "--results", str(classroom.out)])
    assert shown.exit_code == 0 and "No score" in shown.output


def test_a_folder_that_becomes_read_only_is_a_sentence(classroom, monkeypatch):
    classroom.grade()

    def read_only(*arguments, dir=None, **options):  # the parameter's name is tempfile's
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir))

    monkeypatch.setattr(tempfile, "mkdtemp", read_only)
    with pytest.raises(GraderError, match=r"Read-only.* The 3 results .* Make the folder writable"):
        classroom.grade()


# --------------------------------------------------------------------------- what changed between


def test_a_record_cut_off_by_hand_is_graded_anew_and_kept(classroom):
    classroom.grade()
    path = record_path(classroom.out, "bob")
    whole = path.read_bytes()
    path.write_bytes(whole[:-500])
    said = classroom.grade()
    assert any(
        "an earlier bob.json is damaged" in in_words(note) for note in classroom.record("bob").notes
    )
    (kept,) = earlier_records(classroom.out, "bob")
    assert kept.suffix == ".unreadable" and kept.read_bytes() == whole[:-500]
    assert "1 score changed" in said and "the old record was unreadable" in said
    assert {c.student for c in read_changes(classroom.out)} == {"bob"}


@pytest.mark.parametrize(("version", "age"), [(0, "an older"), (99, "a newer")])
def test_a_record_of_another_schema_says_so_and_keeps_its_score(version, age, classroom):
    classroom.grade()
    path = record_path(classroom.out, "bob")
    other = json.loads(path.read_text()) | {"schema_version": version, "total": 3.5, "mood": "?"}
    path.write_text(json.dumps(other))
    said = classroom.grade()
    (note,) = classroom.record("bob").notes
    assert in_words(note) == f"an earlier bob.json was written by {age} grader; graded anew"
    assert "3.5" in said
    ((student, old, _, _),) = totals(classroom.out)
    assert (student, old) == ("bob", 3.5)


def test_a_folder_in_place_of_a_record_moves_to_the_history(classroom):
    record_path(classroom.out, "bob").mkdir(parents=True)
    (record_path(classroom.out, "bob") / "notes.txt").write_text("mine")
    classroom.grade()
    assert classroom.record("bob").state == "graded"
    (kept,) = earlier_records(classroom.out, "bob")
    assert (kept / "notes.txt").read_text() == "mine"


def test_replaced_work_is_graded_anew_and_its_old_score_stays_visible(classroom):
    classroom.grade()
    before, old = classroom.contents(), classroom.record("bob")
    classroom.hand_in("bob", work="second")
    said = classroom.grade()
    new = classroom.record("bob")
    assert old.total != new.total
    assert "1 score changed" in said and "work changed" in said
    assert f"{old.total:g}" in said and f"{new.total:g}" in said
    after = classroom.contents()
    assert {s for s in after if after[s] != before[s]} == {"bob"}
    (kept,) = earlier_records(classroom.out, "bob")
    assert kept.read_bytes() == before["bob"]
    # A later run has nothing to tell, the command still has.
    assert not re.search(r"scores? changed", classroom.grade())
    table = classroom.place / "changes.csv"
    command = ["changes", "--results", str(classroom.out), "--csv", str(table)]
    shown = CliRunner().invoke(main.app, command)
    assert shown.exit_code == 0 and "1 score changed" in shown.output
    (row,) = csv.DictReader(table.open(newline=""))
    assert (row["student"], row["why"]) == ("bob", "work changed")
    assert (float(row["old total"]), float(row["new total"])) == (old.total, new.total)
    by_part = [float(row[f"part {part.part} new"]) for part in new.parts]
    assert sum(by_part) == new.total


def test_another_suite_grades_anew_what_is_not_by_it_and_nothing_else(classroom):
    classroom.grade()
    classroom.suite = "B"
    said = classroom.grade("bob")
    assert "WARNING: this class is mixed. 2 of 3 results" in said and "ana, cyd" in said
    assert "WARNING: this class is mixed" in classroom.grade("bob", quiet=True)
    bob = record_path(classroom.out, "bob").read_bytes()
    error = a_result("cyd", tests=[], state="error", reason="hung", suite_hash="B")
    write_record(classroom.out, error)
    said = classroom.grade()
    assert "mixed" not in said and "tests or real model changed" in said
    assert record_path(classroom.out, "bob").read_bytes() == bob
    for student in STUDENTS:
        assert (classroom.record(student).suite_hash, classroom.record(student).state) == (
            "B",
            "graded",
        )


def test_an_interrupted_regrade_says_that_the_class_is_mixed(classroom, monkeypatch):
    classroom.grade()
    classroom.suite = "B"

    def stop_after_one(summaries, *rest):
        yield next(iter(summaries))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(grader_run, "with_progress", stop_after_one)
        with pytest.raises(Interrupted, match=r"1 of 3 results are kept.*mixed. 2 of 3 results"):
            classroom.grade()
    shown = CliRunner().invoke(main.app, ["changes", "--results", str(classroom.out)])
    assert "this class is mixed. 2 of 3 results" in shown.output
    # The resumed run tells what the interrupted one changed, too.
    assert "3 scores changed" in classroom.grade()
    assert not mixed_class(classroom.out)


def test_the_stand_in_offers_what_the_pool_asks_for(stub_grader):
    assert isinstance(stub_grader.StubSuite("A"), GradingSuite)


def test_a_suite_edited_during_the_run_is_said_loudly(classroom, monkeypatch, stub_grader):
    monkeypatch.setattr(stub_grader.StubSuite, "hash_now", lambda self, key: "A")
    assert "WARNING" not in classroom.grade()
    monkeypatch.setattr(stub_grader.StubSuite, "hash_now", lambda self, key: "B")
    assert "WARNING: the test suite was edited during this run" in classroom.grade(quiet=True)


def test_the_real_suite_notices_that_it_was_edited(tmp_path, monkeypatch):
    from grader.grading import suite

    source = tmp_path / "test_x.py"
    source.write_text("1")
    monkeypatch.setattr(suite, "_sources", lambda: [source])
    loaded = suite.Suite(tmp_path, None, suite.suite_hash(b"key"))
    assert loaded.hash_now(b"key") == loaded.hash
    source.write_text("2")
    assert loaded.hash_now(b"key") != loaded.hash


def test_other_limits_keep_what_is_graded_and_are_told(classroom, tmp_path):
    """Grading all again for a longer wall clock is the instructor's decision."""
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text("call_seconds = 2.0\n")
    other.write_text("call_seconds = 10.0\nmemory_mib = 4096\n")
    assert "other limits" not in classroom.grade(limits=one)
    assert classroom.record("ana").limits["call_seconds"] == 2
    kept = {name: content for name, content in classroom.contents().items() if name != "cyd"}
    classroom.hand_in("cyd", work="second")
    told = (
        "2 of 3 results in {out}/ were made under other limits and are kept as they are "
        "(call_seconds 2 in place of 10, memory_mib 2048 in place of 4096): ana, bob. To grade "
        "them under the same limits as the others, run the grader over these submissions with "
        "--regrade; the old records move to {out}/history/."
    )
    assert told.format(out=classroom.out) in classroom.grade(limits=other)
    assert kept.items() <= classroom.contents().items()
    shown = CliRunner().invoke(main.app, ["changes", "--results", str(classroom.out)]).output
    assert "2 of 3 results" in " ".join(shown.split())
    again = classroom.grade("ana", "bob", limits=other, regrade=True)
    assert "other limits" not in again
    assert [len(earlier_records(classroom.out, name)) for name in STUDENTS] == [1, 1, 1]


def test_a_mixed_class_is_said_and_not_exported_in_silence(classroom, tmp_path):
    """Points by two suites do not compare, whatever makes a list of them."""
    limits = tmp_path / "limits.toml"
    limits.write_text("call_seconds = 2.0\n")
    classroom.grade()
    classroom.suite = "B"
    classroom.grade("bob", limits=limits)

    def called(command, *options):
        arguments = [command, *map(str, options)]
        result = CliRunner().invoke(main.app, arguments, env={"COLUMNS": "1000"})
        return result.exit_code, " ".join(result.output.split())

    both = ("2 of 3 results", "another version of the test suite", "under other limits")
    results = ("--results", classroom.out)
    code, said = called("scores", *results)
    assert code == 0 and all(words in said for words in both)
    table = tmp_path / "scores.csv"
    code, said = called("export", "--to", "csv", "--write", table, *results)
    assert code == 2 and not table.exists()
    assert all(words in said for words in (*both, "--mixed exports all the same"))
    code, said = called("export", "--to", "csv", "--write", table, "--mixed", *results)
    assert code == 0 and all(words in said for words in both) and table.exists()
    code, said = called("report", "--results", classroom.out, "--out", tmp_path / "report")
    page = " ".join((tmp_path / "report" / "index.html").read_text().split())
    assert code == 0 and all(words in page for words in both)


def test_results_without_a_note_on_limits_are_not_told_apart(classroom, tmp_path):
    """As graders before this one wrote them."""
    limits = tmp_path / "limits.toml"
    limits.write_text("call_seconds = 2.0\n")
    classroom.grade("ana", limits=limits)
    path = record_path(classroom.out, "ana")
    content = json.loads(path.read_text())
    del content["limits"]
    path.write_text(json.dumps(content))
    assert "other limits" not in classroom.grade()
    assert classroom.record("ana").limits == {}


def test_a_submission_taken_back_keeps_its_result_and_is_named(classroom):
    classroom.grade()
    before = classroom.contents()
    shutil.rmtree(classroom.folder / "bob")
    said = classroom.grade()
    assert "No longer handed in, or not below the folders of this run: 1 result" in said
    assert said.rstrip().endswith("kept as before: bob.")
    assert classroom.contents() == before
    # By another suite than the rest, it no longer compares.
    classroom.suite = "B"
    assert "mixed. 1 of 3 results" in classroom.grade()
    assert classroom.contents()["bob"] == before["bob"]


def test_results_under_an_earlier_id_are_kept_and_named_with_the_new_one(classroom):
    (classroom.folder / "bob" / "attention.py").write_text("BOBS = True\n")
    classroom.grade()
    before = classroom.contents()
    (classroom.folder / "B").mkdir()
    (classroom.folder / "bob").rename(classroom.folder / "B" / "bob")
    said = " ".join(classroom.grade().split())
    assert "under another id in this run: bob (now B_bob). Move the older records out" in said
    assert classroom.contents().items() > before.items() and "B_bob" in classroom.contents()


# --------------------------------------------------------------------------------------- history


def test_history_keeps_every_record_that_said_something_else(tmp_path):
    for second, points in enumerate([1.0, 2.0, 2.0, 1.0]):
        replace_record(tmp_path, at(a_result(points=points), second))
    assert [json.loads(p.read_text())["total"] for p in earlier_records(tmp_path, "ana")] == [1, 2]
    assert totals(tmp_path) == [
        ("ana", 1.0, 2.0, "--regrade"),
        ("ana", 2.0, 1.0, "--regrade"),
    ]
    assert [path.name for path in tmp_path.glob("*.json")] == ["ana.json"]


def test_an_error_between_two_grades_hides_neither(tmp_path):
    replace_record(tmp_path, at(a_result(points=1.0), 1))
    replace_record(tmp_path, at(a_result(tests=[], state="error", reason="hung"), 2))
    ((_, old, _, why),) = totals(tmp_path)
    assert old == 1.0 and "the grader failed" in why
    replace_record(tmp_path, at(a_result(points=2.0, suite_hash="B"), 3))
    assert totals(tmp_path) == [("ana", 1.0, 2.0, "tests or real model changed")]


def test_why_a_score_changed(tmp_path):
    steps = [
        {"points": 0.0, "sandbox": "none"},
        {"points": 1.0, "sandbox": "bubblewrap"},
        {"points": 2.0, "submission_hash": "h2"},
        {"points": 0.5, "submission_hash": "h3", "suite_hash": "B"},
    ]
    for second, step in enumerate(steps):
        replace_record(tmp_path, at(a_result(**step), second))
    assert [row[3] for row in totals(tmp_path)] == [
        "was graded without a sandbox",
        "work changed",
        "work changed, tests or real model changed",
    ]


def test_a_name_in_the_csv_is_no_formula(tmp_path):
    for points in (1.0, 2.0):
        replace_record(tmp_path, at(a_result("=cmd|' !A1", points=points), int(points)))
    rows = list(csv.reader(io.StringIO(changes_csv(read_changes(tmp_path)))))
    assert rows[1][0] == "'=cmd|' !A1"
    assert rows[1][4:7] == ["1.0", "2.0", "2.0"]


def test_changes_without_results_is_a_sentence(tmp_path):
    done = CliRunner().invoke(main.app, ["changes", "--results", str(tmp_path / "absent")])
    assert done.exit_code == 2 and "There are no results" in done.output
    replace_record(tmp_path, a_result())
    command = ["changes", "--results", str(tmp_path), "--csv", str(tmp_path / "no" / "x.csv")]
    done = CliRunner().invoke(main.app, command)
    assert done.exit_code == 2 and "cannot be written" in done.output


def test_the_history_is_no_part_of_the_class(tmp_path):
    for points in (1.0, 2.0):
        replace_record(tmp_path, at(a_result("history", points=points), int(points)))
    assert read_record(tmp_path, "history")[0].total == 2.0
    assert (tmp_path / HISTORY / "history").is_dir()
    shown = CliRunner().invoke(main.app, ["show", "nobody", "--results", str(tmp_path)])
    assert "There are: history." in shown.output
