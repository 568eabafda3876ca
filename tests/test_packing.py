"""Submissions as bytes: what is taken on another machine is what is taken here."""

import os
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import NothingToGrade
from grader.cluster import packing
from grader.cluster.packing import pack, unpack
from grader.intake.contents import IntakeLimits
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import Found, find_submissions

SECRET = b"root:x:0:0 the host's secret"


@pytest.fixture
def course(tmp_path) -> Course:
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


@pytest.fixture(autouse=True)
def folders(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()


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
