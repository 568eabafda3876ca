"""A class graded elsewhere, in shards and merged, or sent as bytes: as if here and at once."""

import os
import pickle
import re
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_support import make_record, make_test
from typer.testing import CliRunner

from grader import grade_class as grader_run
from grader.base.errors import GraderError, NothingToGrade
from grader.cli import main
from grader.cluster import packing
from grader.cluster.merge import merge
from grader.cluster.packing import pack, unpack
from grader.cluster.shards import MANIFEST, Shard, read_manifest, write_manifest
from grader.grade_class import grade_class
from grader.intake.contents import IntakeLimits
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import Found, find_submissions
from grader.results.history import HISTORY
from grader.results.marks import add_marks, new_mark, read_marks
from grader.results.record import TestResult, make_result, read_record, write_record
from grader.running.child import Grading
from grader.running.pool import keep

ROOT = Path(__file__).resolve().parents[1]
STUDENTS = [f"student{number}" for number in range(12)]
COUNT = 3


@pytest.fixture
def world(monkeypatch, tmp_path):
    """A class, and a grader whose points are made up here: `say` fixes a student's state."""
    course = Course(tmp_path / "package", ("attention",), ())
    states: dict[str, str] = {}
    suite = SimpleNamespace(
        hash="s1",
        blank_tests=(),
        real_model=None,
        # As `name` below, and no reason to warn: nothing was edited.
        hash_now=lambda key: f"{suite.hash}-{key.hex()[:4]}",
        close=lambda: None,
    )

    def grading(out, course, secret, sandbox, regrade, real_model) -> Grading:
        name = f"{suite.hash}-{secret.key.hex()[:4]}"
        return Grading(out, print, suite, name, "1", course, sandbox)

    def grade_all(found, grading, jobs, done):
        for one in found:
            there, _ = read_record(grading.out, one.student)
            kept = there is not None and there.suite_hash == grading.suite_hash
            if states.get(one.student) == "stopped" and not kept:
                raise KeyboardInterrupt
            result = there if kept else result_of(one.student, grading.suite_hash, states)
            done.append(keep(result, kept, grading))
            yield done[-1]

    monkeypatch.setattr(grader_run.Course, "load", lambda: course)
    monkeypatch.setattr(grader_run, "_grading", grading)
    monkeypatch.setattr(grader_run, "grade_all", grade_all)
    monkeypatch.setattr(grader_run, "_require_sandbox", lambda name: "fake")
    monkeypatch.chdir(tmp_path)
    for student in STUDENTS:
        hand_in(tmp_path, student)
    secret = tmp_path / "secret.hex"
    secret.write_text("ab" * 32)
    secret.chmod(0o600)

    def run(number: int | None, **options) -> None:
        shard = None if number is None else Shard(number, options.pop("count", COUNT))
        options = {"secret_file": secret, "quiet": True, **options}
        grade_class([tmp_path / "class"], tmp_path / "results", shard=shard, **options)

    return SimpleNamespace(
        run=run, states=states, suite=suite, course=course, secret=secret, path=tmp_path
    )


def hand_in(folder: Path, student: str) -> None:
    (folder / "class" / student).mkdir(parents=True)
    (folder / "class" / student / "attention.py").touch()


def result_of(student: str, suite_hash: str, states: dict[str, str]):
    test = TestResult(
        id="t",
        part=1,
        section="1.1",
        title="softmax",
        visibility="public",
        points=1.0,
        max_points=2.0,
        state="passed",
    )
    return make_result(
        student=student,
        source=student,
        submission_hash="h",
        suite_hash=suite_hash,
        suite_version="1",
        state=states.get(student, "graded"),
        tests=[test],
    )


def folders(world, count: int = COUNT) -> list[Path]:
    return Shard(1, count).all_folders(world.path / "results")


def records(folder: Path) -> dict[str, bytes]:
    """Every record's bytes without the second in which it was graded."""
    graded_at = re.compile(rb'"graded_at": ?"[^"]*"')
    return {path.stem: graded_at.sub(b"", path.read_bytes()) for path in folder.glob("*.json")}


def test_shards_merged_are_the_class_graded_at_once(world):
    world.run(None)
    at_once = records(world.path / "results")
    assert sorted(at_once) == sorted(STUDENTS)
    for number in range(1, COUNT + 1):
        world.run(number)
    parts = [set(records(folder)) for folder in folders(world)]
    assert sum(map(len, parts)) == len(STUDENTS) and all(parts)
    merged = merge(folders(world), world.path / "merged")
    assert records(world.path / "merged") == at_once
    assert (merged.new, merged.replaced, merged.same) == (len(STUDENTS), 0, 0)
    assert [summary.student for summary in merged.summaries] == sorted(STUDENTS)


def test_a_shard_depends_on_the_name_alone(world, tmp_path):
    everybody = [f"s{number}" for number in range(400)]
    sizes = [sum(Shard(n, 4).holds(name) for name in everybody) for n in range(1, 5)]
    assert sum(sizes) == 400 and min(sizes) > 70
    # Fixed for ever: another Python or machine must not decide otherwise.
    assert [n for n in range(1, 21) if Shard(n, 20).holds("student7")] == [10]
    before = {s for s in STUDENTS if Shard(2, COUNT).holds(s)}
    hand_in(tmp_path, "a-late-one")
    world.run(2)
    assert before <= {path.stem for path in Shard(2, COUNT).folder(Path("results")).glob("*.json")}


def test_results_of_shards_inside_the_class_are_no_submissions(world):
    out = world.path / "class" / "results"
    for number in (1, 2):
        options = {"shard": Shard(number, 2), "secret_file": world.secret, "quiet": True}
        grade_class([world.path / "class"], out, **options)
    assert read_manifest(Shard(2, 2).folder(out)).class_size == len(STUDENTS)
    assert len(merge(Shard(1, 2).all_folders(out), out).summaries) == len(STUDENTS)


def test_a_shard_without_students_is_complete(world):
    for number in range(1, 41):
        world.run(number, count=40)
    assert any(not read_manifest(folder).students for folder in folders(world, 40))
    assert merge(folders(world, 40), world.path / "merged").new == len(STUDENTS)


def test_missing_shards_are_named_and_nothing_is_written(world):
    world.run(1)
    with pytest.raises(GraderError, match=r"Shards 2/3, 3/3 are missing\. .+--shard 2/3"):
        merge(folders(world)[:1], world.path / "merged")
    world.run(3)
    with pytest.raises(GraderError, match=r"Shard 2/3 is missing"):
        merge([folders(world)[0], folders(world)[2]], world.path / "merged")
    assert not (world.path / "merged").exists()


def test_an_unfinished_shard_is_told_from_a_small_one(world):
    mine = [s for s in STUDENTS if Shard(2, COUNT).holds(s)]
    world.states[mine[1]] = "stopped"
    world.run(1)
    world.run(3)
    with pytest.raises(grader_run.Interrupted):
        world.run(2)
    with pytest.raises(GraderError, match=rf"Shard 2/3 .+ is not finished.+{mine[1]}") as caught:
        merge(folders(world), world.path / "merged")
    assert f"{len(mine) - 1} of its {len(mine)} results" in str(caught.value)
    world.states.clear()
    world.run(2)
    assert merge(folders(world), world.path / "merged").new == len(STUDENTS)


def test_shards_of_different_suites_or_secrets_are_not_mixed(world):
    world.run(1)
    world.run(3)
    world.suite.hash = "s2"
    world.run(2)
    with pytest.raises(GraderError, match=r"different suites\. suite s1-abab .+results-1-of-3"):
        merge(folders(world), world.path / "merged")
    world.suite.hash = "s1"
    world.secret.write_text("cd" * 32)
    world.run(2)
    with pytest.raises(GraderError, match=r"suite s1-cdcd \(version 1\): results-2-of-3"):
        merge(folders(world), world.path / "merged")
    # An old record that a stopped run left under a new manifest counts as missing.
    manifest = read_manifest(folders(world)[1])
    write_manifest(folders(world)[1], manifest.model_copy(update={"suite_hash": "s1-abab"}))
    with pytest.raises(GraderError, match=r"Shard 2/3 .+ is not finished"):
        merge(folders(world), world.path / "merged")


def test_shards_of_different_classes_or_counts_are_not_mixed(world):
    world.run(1)
    world.run(2)
    hand_in(world.path, "late")
    world.run(3)
    with pytest.raises(GraderError, match=r"different classes\. 12 submissions .+; 13 submissions"):
        merge(folders(world), world.path / "merged")
    world.run(1, count=2)
    with pytest.raises(GraderError, match="cut differently"):
        merge([*folders(world), Shard(1, 2).folder(world.path / "results")], world.path / "merged")


def test_one_student_twice(world):
    for number in range(1, COUNT + 1):
        world.run(number)
    first = folders(world)[0]
    copy = world.path / "from-another-machine"
    copy.mkdir()
    for path in first.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    student = read_manifest(first).students[0]
    merged = merge([*folders(world), copy], world.path / "merged")
    assert merged.new == len(STUDENTS)
    other = read_record(copy, student)[0].model_copy(update={"reason": "by other points"})
    write_record(copy, other)
    with pytest.raises(GraderError, match=rf"1 with two different records: {student} in results-1"):
        merge([*folders(world), copy], world.path / "again")
    assert not list((world.path / "again").glob("*.json"))


def test_merging_again_changes_nothing_and_a_regrade_replaces(world):
    for number in range(1, COUNT + 1):
        world.run(number)
    into = world.path / "merged"
    merge(folders(world), into)
    before = {path.name: path.stat().st_ino for path in into.glob("*.json")}
    merged = merge(reversed(folders(world)), into)
    assert (merged.new, merged.replaced, merged.same) == (0, 0, len(STUDENTS))
    assert {path.name: path.stat().st_ino for path in into.glob("*.json")} == before

    student = read_manifest(folders(world)[0]).students[0]
    old = read_record(into, student)[0]
    later = old.graded_at.replace(year=old.graded_at.year + 1)
    newer = old.model_copy(update={"reason": "regraded", "graded_at": later})
    write_record(folders(world)[0], newer)
    merged = merge(folders(world), into)
    assert (merged.replaced, merged.same) == (1, len(STUDENTS) - 1)
    assert read_record(into, student)[0].reason == "regraded"
    assert len(list((into / HISTORY / student).iterdir())) == 1

    write_record(folders(world)[0], old)
    with pytest.raises(GraderError, match=rf"newer results than the shards for 1: {student}"):
        merge(folders(world), into)
    assert read_record(into, student)[0].reason == "regraded"


def test_a_shard_makes_no_secret(world):
    world.secret.unlink()
    with pytest.raises(GraderError, match=r"secret\.hex does not exist.+grader secret"):
        world.run(1)
    assert not world.secret.exists()
    made = CliRunner().invoke(main.app, ["secret", "--secret-file", str(world.secret)])
    assert made.exit_code == 0 and "The secret is made" in made.output
    before = world.secret.read_bytes()
    again = CliRunner().invoke(main.app, ["secret", "--secret-file", str(world.secret)])
    assert "there already" in again.output and world.secret.read_bytes() == before
    world.run(1)


def test_commands_say_sentences(world):
    def said(*arguments: str, code: int) -> str:
        result = CliRunner().invoke(main.app, list(map(str, arguments)))
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result.output

    options = ("--secret-file", world.secret)
    for wrong in ("0/3", "4/3", "3", "a/b", "1/99999", ""):
        assert "is not a shard" in said("run", "class", "--shard", wrong, *options, code=2)
    world.states[STUDENTS[0]] = "error"
    codes = [1 if Shard(n, COUNT).holds(STUDENTS[0]) else 0 for n in range(1, COUNT + 1)]
    for number, code in enumerate(codes, start=1):
        shown = said("run", "class", "--shard", f"{number}/{COUNT}", *options, code=code)
        assert f"shard {number}/{COUNT} of 12" in shown
    assert "is not a folder" in said("merge", "absent", code=2)
    assert "There are no results in class/" in said("merge", "class", code=2)
    assert "holds no .grader.shard" in said("merge", folders(world)[0], "class", code=2)
    assert "one of the shards" in said(
        "merge", folders(world)[0], "--into", folders(world)[0], code=2
    )
    shown = said("merge", *folders(world), "--into", "merged", code=1)
    assert "12 submissions: 11 graded, 1 error" in shown
    assert "(12 new, 0 replaced, 0 there already)" in shown and "Run their shards again" in shown
    (folders(world)[0] / MANIFEST).write_text("{")
    assert "is damaged" in said("merge", *folders(world), code=2)


def two_people(folder: Path) -> tuple[Path, Path]:
    """Folders of two people who graded and marked apart; both have ana."""
    tests = [make_test(1, "1.1", "t", "t", "public")]
    for name, students in (("kim", ("ana", "bob")), ("lee", ("ana", "cyd"))):
        (folder / name).mkdir()
        for student in students:
            write_record(folder / name, make_record(student, tests))
    return folder / "kim", folder / "lee"


def test_what_two_people_graded_comes_together_with_what_they_decided(tmp_path):
    kim, lee = two_people(tmp_path)
    for folder, student in ((kim, "ana"), (lee, "cyd")):
        mark = new_mark(student, "points", by=folder.name, points=1.0, text="neat")
        add_marks(folder, lambda there, mark=mark: [mark])
    (lee / "roster.csv").write_text("id,name\nana,Ana Alba\n")
    into = tmp_path / "both"
    merged = merge([kim, lee], into)
    assert merged.new == 3 and merged.told == ()
    assert sorted(path.stem for path in into.glob("*.json")) == ["ana", "bob", "cyd"]
    assert {mark.by for mark in read_marks(into)} == {"kim", "lee"}
    assert (into / "roster.csv").read_text() == "id,name\nana,Ana Alba\n"
    again = merge([kim, lee], into)
    assert (again.new, again.same, again.told) == (0, 3, ())
    assert len(read_marks(into)) == 2


def test_different_results_of_one_student_are_told_and_not_decided(tmp_path):
    kim, lee = two_people(tmp_path)
    worse = [make_test(1, "1.1", "t", "t", "public", state="failed")]
    write_record(lee, make_record("ana", worse))
    (kim / "roster.csv").write_text("id\nana\n")
    (lee / "roster.csv").write_text("id\nbob\n")
    command = ["merge", str(kim), str(lee), "--into", str(tmp_path / "both")]
    result = CliRunner().invoke(main.app, command)
    said = " ".join(result.output.split())
    assert result.exit_code == 1
    assert f"ana has 1 of 1 in {kim} and 0 of 1 in {lee} (the same work, graded apart)" in said
    assert "The rosters differ" in said
    assert sorted(path.stem for path in (tmp_path / "both").glob("*.json")) == ["bob", "cyd"]
    # One of them removed, the rest follows.
    (lee / "ana.json").unlink()
    (lee / "roster.csv").unlink()
    assert merge([kim, lee], tmp_path / "both").told == ()


def test_the_slurm_script_names_its_shard(tmp_path):
    fake = tmp_path / "bin" / "grader"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\nfor word in "$@"; do echo "[$word]"; done\n')
    fake.chmod(0o755)
    environment = {"PATH": f"{fake.parent}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "3"}
    environment |= {"SLURM_ARRAY_TASK_COUNT": "20", "SLURM_CPUS_PER_TASK": "4"}

    def said(*arguments: str, **changes: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", str(ROOT / "docs" / "slurm_array.sh"), *arguments],
            env=environment | changes,
            capture_output=True,
            text=True,
            timeout=30,
        )

    words = said("my class", "results", "secret.hex").stdout.split("\n")
    assert words[:4] == ["[run]", "[my class]", "[--out]", "[results]"]
    assert words[4:6] == ["[--shard]", "[3/20]"] and "[secret.hex]" in words and "[4]" in words
    assert "[3/40]" in said("a", "b", "c", COUNT="40").stdout
    assert said("a", "b").returncode == 2
    assert said("a", "b", "c", SLURM_ARRAY_TASK_ID="").returncode != 0


# ---- Submissions as bytes: what is taken on another machine is what is taken here

SECRET = b"root:x:0:0 the host's secret"


@pytest.fixture
def course(tmp_path) -> Course:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    package = tmp_path / "trusted" / "assignment"
    package.mkdir(parents=True)
    for name in ("attention", "rope"):
        (package / f"{name}.py").write_text("# stub\n")
    return Course(package, ("attention", "rope"), ())


def verdict(found: Found, folder: Path, course: Course) -> tuple:
    """What grading sees: files, hash and notes, or the reason why there is nothing."""
    try:
        prepared = prepare(found, folder, course)
    except NothingToGrade as reason:
        return found.student, found.source_name, found.notes, str(reason)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return found.student, found.source_name, replace(prepared, folder=Path()), files


def a_class(folder: Path) -> Path:
    plain = folder / "plain"
    (plain / "sub").mkdir(parents=True)
    (plain / "attention.py").write_text("x = 1\n")
    (plain / "sub" / "helper.py").write_bytes(b"\xff not UTF-8")
    (plain / "data.bin").write_bytes(bytes(1000))
    (plain / "old.zip").write_bytes(b"PK")
    secret = folder.parent / "secret.py"
    secret.write_bytes(SECRET)
    (plain / "rope.py").symlink_to(secret)
    (plain / "folder").symlink_to(folder.parent)
    os.mkfifo(plain / "pipe.py")
    (folder / "book").mkdir()
    (folder / "book" / "hw.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": "def softmax(x): pass"}], "nbformat": 4}'
    )
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr("deep/attention.py", "x = 2\n")
        archive.writestr("rope.py", "y = 2\n")
    (folder / "broken.tar.gz").write_bytes(b"\x1f\x8b broken")
    (folder / "nothing.zip").touch()
    (folder / "empty").mkdir()
    (folder / "linked").symlink_to(folder.parent)
    for number, module in enumerate(("attention", "rope")):
        (folder / f"doejane_12_3{number}_{module}.py").write_text(f"z = {number}\n")
    (folder / "large").mkdir()
    (folder / "large" / "attention.py").write_bytes(b"#" * (2 << 20))
    return folder


def test_what_is_graded_there_is_what_would_be_graded_here(tmp_path, course):
    found = find_submissions([a_class(tmp_path / "class")], course)
    kinds = {one.kind for one in found}
    assert kinds == {"folder", "archive", "modules", "nothing"} and len(found) == 9
    for one in found:
        here = verdict(one, tmp_path / "here" / one.student, course)
        sent = pickle.dumps(pack(one))
        assert SECRET not in sent
        there = unpack(pickle.loads(sent), tmp_path / f"there-{one.student}")
        assert not any(source.is_absolute() for source in pickle.loads(sent).sources)
        assert verdict(there, tmp_path / "there" / one.student, course) == here


def test_what_is_sent_is_bounded(tmp_path, course):
    small = IntakeLimits(archive_bytes=100, python_bytes=10, total_bytes=10)
    work = a_class(tmp_path / "class")
    for one in find_submissions([work], course):
        assert len(pickle.dumps(pack(one, small))) < 3000
    assert pack(Found("z", "archive", (work / "zipped.zip",)), small).kind == "nothing"


def test_an_archive_is_not_read_through_a_link_and_not_opened_here(tmp_path, monkeypatch):
    (tmp_path / "real.zip").write_bytes(SECRET)
    (tmp_path / "link.zip").symlink_to(tmp_path / "real.zip")
    with pytest.raises(OSError):
        pack(Found("ana", "archive", (tmp_path / "link.zip",)))
    monkeypatch.setattr(packing, "read_submission", lambda *_: 1 / 0)
    packed = pack(Found("ana", "archive", (tmp_path / "real.zip",)))
    assert packed.contents.files == {"real.zip": SECRET}
