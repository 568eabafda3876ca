"""Finding and preparing submissions: odd layouts, hostile archives, notebooks, ids, secrets."""

import bz2
import gzip
import io
import json
import lzma
import os
import resource
import stat
import struct
import subprocess
import sys
import tarfile
import unicodedata
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import GraderError, NothingToGrade
from grader.base.memory import limited_memory
from grader.base.notes import in_words
from grader.base.seeds import derive_seed, load_secret
from grader.intake import archives
from grader.intake import prepare as preparing
from grader.intake.archives import read_archive
from grader.intake.contents import IntakeLimits
from grader.intake.course import Course
from grader.intake.ids import student_id
from grader.intake.prepare import Prepared, prepare
from grader.intake.submissions import find_submissions, passed_over

ROOT = Path(__file__).resolve().parents[1]
WORK = b"def softmax(x, axis=-1):\n    return x\n"
ROPE = b"def apply_rope(x, positions):\n    return x\n"


@pytest.fixture
def course(tmp_path) -> Course:
    package = tmp_path / "trusted" / "assignment"
    package.mkdir(parents=True)
    for name in ("attention", "rope", "transformer", "__init__"):
        (package / f"{name}.py").write_text(f"# trusted {name}\n")
    given = ("__init__.py", "transformer.py")
    return Course(package, ("attention", "rope"), given, ("softmax", "apply_rope"))


def write_tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


def zip_of(path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tar_of(path: Path, files: dict[str, bytes], mode: str = "w", extra=()) -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for member in extra:
            archive.addfile(member)
    return path


def notebook_of(*cells: str, nbformat: int = 4) -> bytes:
    code = [{"cell_type": "code", "source": c, "outputs": ["junk"], "metadata": {}} for c in cells]
    markdown = [{"cell_type": "markdown", "source": "# softmax", "metadata": {}}]
    return json.dumps(
        {"nbformat": nbformat, "nbformat_minor": 5, "metadata": {}, "cells": markdown + code}
    ).encode()


def ids(found) -> list[str]:
    return [submission.student for submission in found]


def prepared(path: Path, course: Course, where: Path) -> Prepared:
    (found,) = find_submissions([path], course)
    return prepare(found, where, course)


def refusal(path: Path, course: Course, where: Path) -> str:
    with pytest.raises(NothingToGrade) as caught:
        prepared(path, course, where)
    assert not (where / "assignment").exists()
    return str(caught.value)


# ----------------------------------------------------------------------------------- layouts


LAYOUTS = {
    "bare": "attention.py",
    "in its package": "assignment/attention.py",
    "top folder": "hw1/attention.py",
    "top folder and package": "hw1/assignment/attention.py",
    "three levels": "homework/b/c/attention.py",
}


@pytest.mark.parametrize("inside", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("form", ["folder", "zip", "tar.gz", "tar.xz", "tar.bz2", "tar"])
def test_one_submission_in_any_form_and_layout(inside, form, course, tmp_path):
    files = {inside: WORK, "README.md": b"hi"}
    if form == "folder":
        path = write_tree(tmp_path / "ana", files)
    elif form == "zip":
        path = zip_of(tmp_path / "ana.zip", files)
    else:
        path = tar_of(tmp_path / f"ana.{form}", files, f"w:{form[4:]}")
    (found,) = find_submissions([path], course)
    assert found.student == "ana"
    done = prepare(found, tmp_path / "out", course)
    assert done.taken == ("attention.py",)
    assert done.from_stubs == ("rope.py",)
    package = tmp_path / "out" / "assignment"
    assert (package / "attention.py").read_bytes() == WORK
    assert (package / "rope.py").read_text() == "# trusted rope\n"


def test_same_work_has_same_hash_in_every_form(course, tmp_path):
    folder = write_tree(tmp_path / "a" / "ana", {"attention.py": WORK, "notes.txt": b"x"})
    archive = zip_of(tmp_path / "bob.zip", {"hw/assignment/attention.py": WORK})
    other = zip_of(tmp_path / "eve.zip", {"attention.py": WORK + b"\n"})
    hashes = [
        prepared(path, course, tmp_path / str(i)).submission_hash
        for i, path in enumerate([folder, archive, other])
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_class_folder_with_everything_in_it(course, tmp_path):
    cls = write_tree(
        tmp_path / "class",
        {
            "ana/attention.py": WORK,
            "bob/assignment/rope.py": ROPE,
            "cyd/hw/assignment/attention.py": WORK,
            "dan.ipynb": notebook_of("def softmax(x): return x"),
            "eve/report.pdf": b"no code",
            "flo.rar": b"Rar!",
            "Gus Gray_77_assignsubmission_file/x.ipynb": notebook_of("def softmax(x): return x"),
            "roster.csv": b"not a submission",
            ".git/attention.py": WORK,
            "__MACOSX/attention.py": WORK,
            ".venv/lib/attention.py": WORK,
        },
    )
    zip_of(cls / "hal.zip", {"attention.py": WORK})
    found = find_submissions([cls], course)
    assert ids(found) == ["Gus_Gray_77", "ana", "bob", "cyd", "dan", "eve", "flo", "hal"]
    assert [f.student for f in found if f.kind == "nothing"] == ["eve", "flo"]


def test_results_inside_the_class_folder_are_not_a_student(course, tmp_path):
    cls = write_tree(tmp_path, {"ana/attention.py": WORK, "bob/attention.py": WORK})
    (cls / "results").mkdir()
    found = find_submissions([cls], course, exclude=[cls / "results"])
    assert "results" not in ids(found)


def test_the_path_below_what_was_handed_in_is_the_id_whoever_else_is_there(course, tmp_path):
    cls = write_tree(tmp_path / "class", {"sec1/ana/attention.py": WORK})
    zip_of(cls / "sec2" / "B" / "bob.zip", {"attention.py": WORK})
    assert ids(find_submissions([cls], course)) == ["sec1_ana", "sec2_B_bob"]
    write_tree(cls, {"sec1/cyd/attention.py": WORK, "sec2/dan/attention.py": WORK})
    every = ["sec1_ana", "sec1_cyd", "sec2_B_bob", "sec2_dan"]
    assert ids(find_submissions([cls], course)) == every
    assert ids(find_submissions([cls / "sec2" / "B"], course)) == ["bob"]
    for order in ([cls, cls / "sec2"], [cls / "sec2", cls]):
        assert sorted(ids(find_submissions(order, course))) == every


def test_class_of_one_keeps_the_students_name(course, tmp_path):
    zip_of(tmp_path / "one" / "zoe.zip", {"attention.py": WORK})
    assert ids(find_submissions([tmp_path / "one"], course)) == ["zoe"]


def test_a_platforms_folder_is_one_students_whatever_lies_in_it(course, tmp_path):
    """Regraded by itself it keeps its id, and not that of an archive in it."""
    folder = tmp_path / "moodle" / "Ana A_1_assignsubmission_file_"
    zip_of(folder / "hw.json.zip", {"attention.py": WORK})
    for path in (tmp_path / "moodle", folder):
        assert ids(find_submissions([path], course)) == ["Ana_A_1"]
    zip_of(folder / "sub" / "bob.zip", {"attention.py": WORK})
    for path in (tmp_path / "moodle", folder):
        found = find_submissions([path], course)
        assert ids(found) == ["Ana_A_1-1", "Ana_A_1-2"]


@pytest.mark.parametrize(
    ("files", "named", "student"),
    [
        (
            ["Ana A_1_assignsubmission_file_/hw.zip"],
            "Ana A_1_assignsubmission_file_/hw.zip",
            "Ana_A_1",
        ),
        (["doejane_12_34_hw.zip", "x.zip"], "doejane_12_34_hw.zip", "doejane_12"),
        (["bob/hw2.zip"], "bob/hw2.zip", "bob"),
        (["B/bob.zip", "B/bea.zip"], "B/bob.zip", "bob"),
    ],
)
def test_a_file_named_alone_has_the_id_of_the_class(files, named, student, course, tmp_path):
    for name in files:
        zip_of(tmp_path / "class" / name, {"attention.py": WORK})
    path = tmp_path / "class" / named
    [of_one] = find_submissions([path], course)
    of_class = {found.sources: found for found in find_submissions([path.parent], course)}
    assert of_one.student == student
    if len(of_class) > 1:
        assert of_class[of_one.sources].student == student


def test_a_module_from_canvas_is_its_students_when_named_alone(course, tmp_path):
    write_tree(tmp_path, {"doejane_LATE_12_34_attention-1.py": WORK})
    [found] = find_submissions([tmp_path / "doejane_LATE_12_34_attention-1.py"], course)
    assert found.student == "doejane_12"
    assert prepare(found, tmp_path / "out", course).taken == ("attention.py",)


def test_who_handed_in_a_pdf_only_has_a_row(course, tmp_path):
    files = {"doejane_12_34_attention.py": WORK, "doejane_12_35_notes.pdf": b"%PDF"}
    write_tree(tmp_path / "class", files | {"roejim_13_36_hw.pdf": b"%PDF"})
    stray = []
    found = find_submissions([tmp_path / "class"], course, stray=stray)
    assert [(one.student, one.kind) for one in found] == [
        ("doejane_12", "modules"),
        ("roejim_13", "nothing"),
    ]
    assert stray == [] and "It holds none of attention.py" in str(found[1].reason)


@pytest.mark.parametrize(
    "names",
    [
        ["doejane_12_34_attention.py", "roejim_LATE_13_36_attention.py"],
        ["doejane_12_34_hw.zip", "roejim_13_36_hw.zip"],
        ["Ana A_1_assignsubmission_file_/attention.py", "Ben B_2_assignsubmission_file_/hw.ipynb"],
    ],
)
def test_a_platforms_download_of_a_class_is_nobodys_work(names, course, tmp_path):
    archive = zip_of(tmp_path / "submissions.zip", dict.fromkeys(names, WORK))
    [found] = find_submissions([archive], course)
    with pytest.raises(NothingToGrade, match="unpack it into a folder and grade the folder"):
        prepare(found, tmp_path / "out", course)


def test_an_empty_file_is_said_to_be_empty(course, tmp_path):
    write_tree(tmp_path / "ada", {"attention.py": WORK, "rope.py": b" \n"})
    [found] = find_submissions([tmp_path / "ada"], course)
    notes = prepare(found, tmp_path / "out", course).notes
    assert [in_words(one) for one in notes if one.kind == "empty_file"] == [
        "rope.py is empty: what was to be in it was not saved, or not handed in"
    ]


def test_an_archive_that_is_not_read_is_named(course, tmp_path):
    write_tree(tmp_path / "class", {"ada/attention.py": WORK, "bob/hw.rar": b"Rar!"})
    [_, bob] = find_submissions([tmp_path / "class"], course)
    assert str(bob.reason).startswith(
        "hw.rar is an archive that is not read: a zip or tar archive is."
    )


def test_homework_in_a_students_folder_has_the_folders_name(course, tmp_path):
    cls = write_tree(tmp_path / "class", {"bob/attention.py": WORK, "cyd/src/rope.py": ROPE})
    zip_of(cls / "ana" / "hw1.zip", {"attention.py": WORK})
    write_tree(cls, {"dan/Homework 2.ipynb": notebook_of("def softmax(x): return x")})
    assert ids(find_submissions([cls], course)) == ["ana", "bob", "cyd", "dan"]


def test_two_archives_of_one_student_keep_the_students_name(course, tmp_path):
    cls = write_tree(tmp_path / "class", {"bob/attention.py": WORK, "ana/x.txt": b""})
    for name in ("v1", "v2"):
        zip_of(cls / "ana" / f"{name}.zip", {"attention.py": WORK})
    assert ids(find_submissions([cls], course)) == ["ana_v1", "ana_v2", "bob"]


def test_same_id_is_graded_separately_and_the_same_place_once(course, tmp_path):
    for where in ("x", "y"):
        write_tree(tmp_path / where, {"ana/attention.py": WORK, "ana-2/attention.py": WORK})
    zip_of(tmp_path / "ANA.zip", {"attention.py": WORK})
    paths = [tmp_path / "x", tmp_path / "y", tmp_path / "ANA.zip", tmp_path / "x" / "ana"]
    found = find_submissions(paths, course)
    assert ids(found) == ["ana-1", "ana-2-1", "ana-3", "ana-2-2", "ANA-4"]
    assert [one.notes[0].kind for one in found] == ["same_id"] * 5


def test_a_section_and_a_folder_of_one_path_both_lose_the_bare_id(course, tmp_path):
    """Whoever makes a folder so that it spells another's id takes nobody's results."""
    files = {"B/bob/attention.py": WORK, "B_bob/attention.py": WORK, "B/eve/attention.py": WORK}
    found = find_submissions([write_tree(tmp_path / "class", files)], course)
    assert ids(found) == ["B_bob-1", "B_eve", "B_bob-2"]
    noted = [one.student for one in found if any(n.kind == "same_id" for n in one.notes)]
    assert noted == ["B_bob-1", "B_bob-2"]


def test_an_id_of_a_path_is_not_read_as_a_platforms_name(course, tmp_path):
    """`12_34_bob` in section B is not the user 12 of a student called B."""
    files = {"B/12_34_bob/attention.py": WORK, "B/12_35_eve/attention.py": WORK}
    found = find_submissions([write_tree(tmp_path / "class", files)], course)
    assert ids(found) == ["B_12_34_bob", "B_12_35_eve"]


def test_canvas_files_of_one_student_are_one_submission(course, tmp_path):
    cls = write_tree(
        tmp_path / "canvas",
        {
            "doejane_12_101_attention-1.py": WORK,
            "doejane_12_102_rope.py": ROPE,
            "leewei_LATE_13_103_hw.ipynb": notebook_of("def softmax(x): return x"),
        },
    )
    found = find_submissions([cls], course)
    assert ids(found) == ["doejane_12", "leewei_13"]
    assert prepare(found[0], tmp_path / "out", course).taken == ("attention.py", "rope.py")


def test_lone_module_is_a_partial_submission(course, tmp_path):
    write_tree(tmp_path / "ana", {"rope.py": ROPE})
    (found,) = find_submissions([tmp_path / "ana" / "rope.py"], course)
    assert found.student == "ana"
    assert prepare(found, tmp_path / "out", course).from_stubs == ("attention.py",)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ana", "ana"),
        ("Jane Doe_123_assignsubmission_file", "Jane_Doe_123"),
        ("Jane Doe_123_assignsubmission_file_hw.zip", "Jane_Doe_123"),
        ("doejane_12345_678_my_hw.zip", "doejane_12345"),
        ("doejane_LATE_12345_678_hw", "doejane_12345"),
        ("../../etc/passwd", "etc_passwd"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("=cmd|' /C calc'!A0", "cmd_C_calc_A0"),
        ("-rf", "rf"),
        ("a\x1b[31m\u202eb\x00", "a_31m_b"),
        ("张伟", "张伟"),
        ("con", "con_"),
        ("x" * 300, "x" * 100),
        ("é" * 80, "é" * 50),
        (unicodedata.normalize("NFD", "é"), "é"),
    ],
)
def test_student_ids_are_safe_file_names(name, expected):
    assert student_id(name) == expected


def test_nothing_found_and_wrong_paths_are_sentences(course, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, words in [
        (tmp_path / "empty", "No submission was found"),
        (tmp_path / "absent", "does not exist"),
        (write_tree(tmp_path, {"notes.txt": b""}) / "notes.txt", "is not a submission"),
    ]:
        with pytest.raises(GraderError, match=words):
            find_submissions([path], course)


# ------------------------------------------------------------------------------ what is taken


def test_only_the_students_modules_are_taken(course, tmp_path):
    folder = write_tree(
        tmp_path / "ana",
        {
            "assignment/attention.py": WORK,
            "assignment/helpers/deep/maths.py": b"# mine",
            "assignment/utils.py": b"# mine",
            "assignment/transformer.py": b"# patched",
            "assignment/transformer/__init__.py": b"# hides the given file",
            "assignment/__init__.py": b"import os; os._exit(0)",
            "assignment/conftest.py": b"# evil",
            "assignment/test_part1.py": b"# evil",
            "assignment/harness/compare.py": b"# evil",
            "assignment/golden/x.py": b"# evil",
            "assignment/pytest.ini": b"[pytest]",
            "assignment/native.so": b"\x7fELF",
            "assignment/my-notes.py": b"",
            "attention_old.py": b"",
            "conftest.py": b"",
        },
    )
    done = prepared(folder, course, tmp_path / "out")
    assert done.taken == ("attention.py", "helpers/deep/maths.py", "utils.py")
    laid_out = {str(p.relative_to(done.folder)): p for p in done.folder.rglob("*") if p.is_file()}
    assert set(laid_out) == {
        f"assignment/{name}" for name in (*done.taken, "rope.py", "transformer.py", "__init__.py")
    }
    assert laid_out["assignment/transformer.py"].read_text() == "# trusted transformer\n"
    assert laid_out["assignment/__init__.py"].read_text() == "# trusted __init__\n"
    assert any("my-notes.py" in in_words(note) for note in done.notes)


def test_prepared_files_are_plain_and_readable_whatever_the_umask(course, tmp_path):
    folder = write_tree(tmp_path / "ana", {"attention.py": WORK, "pkg/helper.py": b""})
    (folder / "attention.py").chmod(0o4777)
    before = os.umask(0o077)
    try:
        done = prepared(folder, course, tmp_path / "out")
    finally:
        os.umask(before)
    for path in (done.folder, *done.folder.rglob("*")):
        wanted = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
        assert path.is_dir() or stat.S_ISREG(path.lstat().st_mode)


def test_links_and_pipes_in_a_folder_are_left_out(course, tmp_path):
    secret = write_tree(tmp_path / "host", {"attention.py": b"# the host's"})
    folder = write_tree(tmp_path / "ana", {"rope.py": ROPE})
    (folder / "attention.py").symlink_to(secret / "attention.py")
    (folder / "helpers").symlink_to(secret)
    os.mkfifo(folder / "pipe.py")
    done = prepared(folder, course, tmp_path / "out")
    assert done.taken == ("rope.py",)
    assert len([note for note in done.notes if note.kind == "link"]) == 2


def test_linked_student_folder_is_listed_not_followed(course, tmp_path):
    cls = write_tree(tmp_path / "class", {"ana/attention.py": WORK, "bob/attention.py": WORK})
    (cls / "eve").symlink_to(tmp_path / "class" / "ana")
    found = find_submissions([cls], course)
    assert [(f.student, f.kind) for f in found][-1] == ("eve", "nothing")
    assert "link" in str(found[-1].reason)


def test_shallowest_modules_win_and_the_package_among_equals(course, tmp_path):
    archive = zip_of(
        tmp_path / "ana.zip",
        {"aaa/attention.py": b"# draft", "assignment/attention.py": WORK, "x/y/rope.py": ROPE},
    )
    done = prepared(archive, course, tmp_path / "out")
    assert (done.folder / "assignment" / "attention.py").read_bytes() == WORK
    assert done.taken == ("attention.py",)
    assert len([note for note in done.notes if "ignored" in in_words(note)]) == 2


def test_depth_counts_before_the_packages_name(course, tmp_path):
    archive = zip_of(
        tmp_path / "ana.zip", {"hw/attention.py": WORK, "old/v1/assignment/attention.py": b"# old"}
    )
    done = prepared(archive, course, tmp_path / "out")
    assert (done.folder / "assignment" / "attention.py").read_bytes() == WORK


def test_hash_keeps_names_and_contents_apart(course, tmp_path):
    one = write_tree(tmp_path / "ana", {"attention.py": b"1rope.py2"})
    two = write_tree(tmp_path / "bob", {"attention.py": b"1", "rope.py": b"2"})
    first, second = (prepared(path, course, tmp_path / path.name[0]) for path in (one, two))
    assert first.submission_hash != second.submission_hash


def test_incomplete_installation_is_the_harness_fault(course, tmp_path):
    (course.package / "rope.py").unlink()
    with pytest.raises(GraderError, match=r"own copy of rope\.py"):
        prepared(write_tree(tmp_path / "ana", {"attention.py": WORK}), course, tmp_path / "out")


# ---------------------------------------------------------------------------------- notebooks


def test_notebook_cells_are_taken_as_data(course, tmp_path):
    cells = ["%matplotlib inline\nimport numpy", "def softmax(x):\n    return x"]
    path = write_tree(tmp_path, {"ana.ipynb": notebook_of(*cells)}) / "ana.ipynb"
    done = prepared(path, course, tmp_path / "out")
    package = done.folder / "assignment"
    assert json.loads((package / "notebook_cells.json").read_text()) == cells
    assert (package / "attention.py").read_text() == "# trusted attention\n"


def test_outputs_do_not_change_a_notebooks_hash(course, tmp_path):
    first = notebook_of("def softmax(x): return x")
    second = first.replace(b"junk", b"other output")
    assert first != second
    hashes = {
        prepared(
            write_tree(tmp_path / str(i), {"a.ipynb": content}) / "a.ipynb",
            course,
            tmp_path / f"o{i}",
        ).submission_hash
        for i, content in enumerate([first, second])
    }
    assert len(hashes) == 1


def test_modules_win_over_a_notebook_unless_absent(course, tmp_path):
    notebook = notebook_of("def softmax(x): return x")
    both = write_tree(tmp_path / "ana", {"attention.py": WORK, "hw.ipynb": notebook})
    assert prepared(both, course, tmp_path / "o1").taken == ("attention.py",)
    alone = zip_of(tmp_path / "bob.zip", {"hw/hw.ipynb": notebook, "hw/utils.py": b"# mine"})
    assert prepared(alone, course, tmp_path / "o2").taken == ("notebook_cells.json", "utils.py")


def test_the_notebook_that_defines_the_functions_is_taken(course, tmp_path):
    archive = zip_of(
        tmp_path / "ana.zip",
        {"a_scratch.ipynb": notebook_of("1+1"), "hw.ipynb": notebook_of("def softmax(x): 0")},
    )
    done = prepared(archive, course, tmp_path / "out")
    cells = (done.folder / "assignment" / "notebook_cells.json").read_text()
    assert "softmax" in cells
    assert "a_scratch.ipynb was ignored" in in_words(done.notes[0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not readable JSON"),
        (b"{", "not readable JSON"),
        (b"[" * 100_000, "not readable JSON"),
        (b"\xff\xfe\x00", "not readable JSON"),
        (b"[1, 2]", "names no nbformat"),
        (notebook_of("x", nbformat=3), "format 3; expected format 4"),
        (b'{"nbformat": 4}', "no list of cells"),
        (b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}', "Cell 1"),
        (notebook_of(), "no code cell"),
        (notebook_of("#" * (1024 * 1024 + 1)), "larger than 1024 KiB"),
    ],
)
def test_broken_notebooks_are_refused_with_the_reason(content, words, course, tmp_path):
    path = write_tree(tmp_path, {"ana.ipynb": content}) / "ana.ipynb"
    assert words in refusal(path, course, tmp_path / "out")


# ----------------------------------------------------------------------------------- archives


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../attention.py", "'..'"),
        ("a/../../attention.py", "'..'"),
        ("..\\attention.py", "'..'"),
        ("/etc/attention.py", "absolute"),
        ("\\\\host\\attention.py", "absolute"),
        ("C:\\attention.py", "drive letter"),
        ("C:attention.py", "drive letter"),
        ("a" * 256 + ".py", "longer than 255 bytes"),
        ("é" * 127 + ".py", "longer than 255 bytes"),
        ("a/" * 600 + "attention.py", "longer than 1024 bytes"),
    ],
)
@pytest.mark.parametrize("form", ["zip", "tar"])
def test_paths_that_lead_elsewhere_are_refused(form, name, words, course, tmp_path):
    make = zip_of if form == "zip" else tar_of
    path = make(tmp_path / f"ana.{form}", {"attention.py": WORK, name: WORK})
    assert words in refusal(path, course, tmp_path / "out")


def test_nul_in_a_zip_name_is_refused(course, tmp_path):
    path = zip_of(tmp_path / "ana.zip", {"attention.py": WORK, "rope.pyZ.txt": ROPE})
    path.write_bytes(path.read_bytes().replace(b"rope.pyZ.txt", b"rope.py\0.txt"))
    assert "NUL" in refusal(path, course, tmp_path / "out")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.SYMTYPE, "symbolic link"),
        (tarfile.LNKTYPE, "hard link"),
        (tarfile.CHRTYPE, "device"),
        (tarfile.BLKTYPE, "device"),
        (tarfile.FIFOTYPE, "device or pipe"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(kind, words, course, tmp_path):
    member = tarfile.TarInfo("rope.py")
    member.type, member.linkname = kind, "/etc/passwd"
    path = tar_of(tmp_path / "ana.tar", {"attention.py": WORK}, extra=[member])
    assert words in refusal(path, course, tmp_path / "out")


@pytest.mark.parametrize(("mode", "words"), [(0o120777, "symbolic link"), (0o020666, "device")])
def test_links_and_devices_in_a_zip_are_refused(mode, words, course, tmp_path):
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w") as archive:
        entry = zipfile.ZipInfo("attention.py")
        entry.external_attr = mode << 16
        archive.writestr(entry, "/etc/passwd")
    assert words in refusal(path, course, tmp_path / "out")


def test_a_virtual_environment_with_links_does_no_harm(course, tmp_path):
    link = tarfile.TarInfo("hw/.venv/bin/python")
    link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin/python3"
    files = {
        "hw/attention.py": WORK,
        "hw/._attention.py": b"\0resource fork",
        "__MACOSX/hw/attention.py": b"\0",
        "hw/venv/lib/python3.11/site-packages/numpy/rope.py": b"# not mine",
        "hw/old.zip": b"PK",
    }
    path = tar_of(tmp_path / "ana.tgz", files, "w:gz", extra=[link])
    done = prepared(path, course, tmp_path / "out")
    assert done.taken == ("attention.py",)
    assert any("old.zip is an archive inside" in in_words(note) for note in done.notes)


def test_zip_made_on_windows_with_backslashes_is_read(course, tmp_path):
    path = zip_of(tmp_path / "ana.zip", {"hw\\assignment\\attention.py": WORK})
    assert prepared(path, course, tmp_path / "out").taken == ("attention.py",)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("ana.zip", b"", "0 bytes"),
        ("ana.zip", b"dear grader, here is my homework\n" * 40, "does not start like"),
        ("ana.tar.gz", b"\x1f\x8b\x08 and then nonsense" * 10, "damaged"),
        ("ana.tar", b"x" * 4096, "does not start like"),
    ],
)
def test_what_is_not_an_archive_is_said_so(name, content, words, course, tmp_path):
    path = write_tree(tmp_path, {name: content}) / name
    assert words in refusal(path, course, tmp_path / "out")


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz", "tar.bz2", "tar.xz"])
@pytest.mark.parametrize("keep", [0.3, 0.7, 0.97])
def test_truncated_archives_are_refused(form, keep, course, tmp_path):
    files = {"attention.py": os.urandom(20_000), "rope.py": os.urandom(20_000)}
    path = tmp_path / f"ana.{form}"
    if form == "zip":
        zip_of(path, files)
    else:
        tar_of(path, files, f"w:{form[4:]}")
    content = path.read_bytes()
    if form == "tar":  # without the padding at its end, which carries nothing
        content = content[: 2 * (512 + 20_480)]
    path.write_bytes(content[: int(len(content) * keep)])
    message = refusal(path, course, tmp_path / "out")
    assert "cut short" in message or "damaged" in message


@pytest.mark.parametrize("form", ["tar.gz", "tar.bz2", "tar.xz"])
def test_a_cut_behind_the_last_file_is_noticed_too(form, course, tmp_path):
    path = tar_of(tmp_path / f"ana.{form}", {"attention.py": WORK}, f"w:{form[4:]}")
    path.write_bytes(path.read_bytes()[:-2])
    assert "cut short" in refusal(path, course, tmp_path / "out")


def test_flipped_bytes_are_noticed(course, tmp_path):
    path = zip_of(tmp_path / "ana.zip", {"attention.py": os.urandom(1000)})
    content = bytearray(path.read_bytes())
    content[300] ^= 0xFF
    path.write_bytes(content)
    assert "damaged" in refusal(path, course, tmp_path / "out")


def test_encrypted_zip_is_named(course, tmp_path):
    path = zip_of(tmp_path / "ana.zip", {"attention.py": WORK})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    assert "is encrypted (attention.py needs a password)" in refusal(path, course, tmp_path / "out")


def test_unusual_zip_compression_is_named(course, tmp_path):
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("attention.py", WORK)
    assert "method 14" in refusal(path, course, tmp_path / "out")


def test_zip_bomb_is_stopped_while_reading_whatever_its_headers_say(course, tmp_path):
    path = zip_of(tmp_path / "ana.zip", {"attention.py": b"\0" * (8 << 20)})
    assert "larger than 1 MiB" in refusal(path, course, tmp_path / "out")
    content = path.read_bytes().replace(struct.pack("<L", 8 << 20), struct.pack("<L", 100))
    path.write_bytes(content)
    # The header now lies: nothing beyond what it claims, and the checksum gives it away.
    assert "damaged" in refusal(path, course, tmp_path / "out")


@pytest.mark.parametrize("packer", [gzip.compress, bz2.compress, lzma.compress])
def test_tar_bomb_is_stopped_even_in_a_file_that_is_not_taken(packer, tmp_path):
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        member = tarfile.TarInfo("data.bin")
        member.size = 4 << 20
        archive.addfile(member, io.BytesIO(b"\0" * member.size))
    path = tmp_path / "ana.tar"
    path.write_bytes(packer(inner.getvalue()))
    with pytest.raises(NothingToGrade, match="unpacks to more than 1 MiB"):
        read_archive(path, IntakeLimits(stream_bytes=1 << 20))


def test_many_small_files_are_bounded_in_number_and_in_sum(tmp_path):
    files = {f"m{i}.py": b"#" * 1000 for i in range(30)}
    path = zip_of(tmp_path / "ana.zip", files)
    for limits, words in [
        (IntakeLimits(files=29), "more than 29 Python files"),
        (IntakeLimits(entries=29), "more than 29 entries"),
        (IntakeLimits(total_bytes=29_000), "together"),
    ]:
        with pytest.raises(NothingToGrade, match=words):
            read_archive(path, limits)
    assert len(read_archive(path, IntakeLimits(files=30, entries=30)).files) == 30


def test_xz_cannot_ask_for_a_huge_dictionary(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 160 << 20}]
    path = tmp_path / "ana.tar.xz"
    header = lzma.compress(b"\0" * 1024, filters=filters)
    path.write_bytes(header)
    with pytest.raises(NothingToGrade, match=r"damaged: LZMAError: Memory"):
        read_archive(path)


def test_concatenated_xz_streams_are_read_to_the_end(tmp_path):
    tar = tar_of(tmp_path / "plain.tar", {"attention.py": WORK}).read_bytes()
    path = tmp_path / "ana.tar.xz"
    path.write_bytes(lzma.compress(tar[:700]) + lzma.compress(tar[700:]) + b"\0" * 4)
    assert read_archive(path).files == {"attention.py": WORK}


def test_last_of_two_entries_of_one_name_is_taken(tmp_path):
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("attention.py", b"# first")
        archive.writestr("attention.py", WORK)
    contents = read_archive(path)
    assert contents.files == {"attention.py": WORK}
    assert contents.notes[0].kind == "file_twice"


MEASURED = """
import sys
from pathlib import Path
from grader.base.errors import NothingToGrade
from grader.intake.archives import read_archive

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024

before = peak()
try:
    read_archive(Path(sys.argv[1]))
except NothingToGrade as problem:
    print(problem)
print(peak() - before)
"""


def test_a_bzip2_entry_is_unpacked_no_further_than_it_is_read(tmp_path):
    """zipfile makes of 64 KiB all that they hold: 2.6 KB became 3.4 GiB."""
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("attention.py", bytes(96 << 20))
    assert path.stat().st_size < 1000
    command = [sys.executable, "-c", MEASURED, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    sentence, grown = said.stdout.splitlines()
    assert "attention.py is larger than 1 MiB" in sentence
    assert int(grown) < 24


@pytest.mark.parametrize("spoil", ["size", "checksum", "content"])
def test_a_bzip2_entry_is_held_to_what_the_archive_says_of_it(spoil, tmp_path):
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("attention.py", WORK * 50)
        entry = archive.infolist()[0]
    assert read_archive(path).files == {"attention.py": WORK * 50}
    content = path.read_bytes()
    found, other = {
        "size": (struct.pack("<L", entry.file_size), struct.pack("<L", entry.file_size - 1)),
        "checksum": (struct.pack("<L", entry.CRC), struct.pack("<L", entry.CRC ^ 1)),
        "content": (content[60:70], bytes(10)),
    }[spoil]
    assert found in content
    path.write_bytes(content.replace(found, other))
    with pytest.raises(NothingToGrade, match="damaged"):
        read_archive(path)


def a_tar_with(path: Path, *members: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, "w", format=form) as archive:
        for member in members:
            archive.addfile(member)
    return path


def test_what_a_tar_says_in_front_of_a_member_is_bounded(tmp_path):
    def commented(size: int) -> tarfile.TarInfo:
        member = tarfile.TarInfo("attention.py")
        member.pax_headers = {"comment": "x" * size}
        return member

    some = [commented(100_000) for _ in range(20)]
    assert read_archive(a_tar_with(tmp_path / "ana.tar", *some)).files == {"attention.py": b""}
    a_tar_with(tmp_path / "bob.tar", commented(2 << 20))
    long_name = tarfile.TarInfo("x" * (2 << 20))
    a_tar_with(tmp_path / "cyd.tar", long_name, form=tarfile.GNU_FORMAT)
    # One header behind another, each small, of which none ends.
    one = commented(200_000).tobuf(tarfile.PAX_FORMAT)
    (tmp_path / "dan.tar").write_bytes(one[:-512] * 20)
    for name in ("bob", "cyd", "dan"):
        with pytest.raises(NothingToGrade, match="name and attributes take more than 1 MiB"):
            read_archive(tmp_path / f"{name}.tar")


def test_a_file_with_holes_is_refused_before_its_map_is_read(tmp_path):
    old = tarfile.TarInfo("attention.py")
    old.type = tarfile.GNUTYPE_SPARSE
    new = tarfile.TarInfo("attention.py")
    new.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "a.py"}
    for member in (old, new):
        with pytest.raises(NothingToGrade, match="file with holes"):
            read_archive(a_tar_with(tmp_path / "ana.tar", member))


def test_a_name_that_comes_again_and_again_is_noted_once_and_read_so_often(tmp_path):
    path = tmp_path / "ana.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(40):
            archive.writestr("attention.py", b"#" * 50_000)
    assert [one.kind for one in read_archive(path).notes] == ["file_twice"]
    with pytest.raises(NothingToGrade, match="larger than"):
        read_archive(path, IntakeLimits(stream_bytes=1_000_000))


def test_a_zips_entries_are_counted_before_they_are_parsed(tmp_path, monkeypatch):
    path = zip_of(tmp_path / "ana.zip", {str(n): b"" for n in range(30)})
    monkeypatch.setattr(archives.zipfile, "ZipFile", lambda file: 1 / 0)
    with pytest.raises(NothingToGrade, match="more than 29 entries"):
        read_archive(path, IntakeLimits(entries=29))


def test_reading_that_takes_too_much_memory_is_a_sentence(course, tmp_path, monkeypatch):
    """And the process can go on: what follows may take as much as before."""
    path = tmp_path / "ana.ipynb"
    path.write_bytes(b'{"nbformat": 4, "cells": [], "x": [' + b"[]," * (5 << 20) + b"0]}")
    monkeypatch.setattr(preparing, "limited_memory", lambda: limited_memory(100))
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert "more than 1024 MiB of memory" in refusal(path, course, tmp_path / "out")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


# ------------------------------------------------------------------------------------ secrets


def test_secret_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "deep" / "secret.hex"
    first = load_secret(path)
    again = load_secret(path)
    assert first.created and not again.created
    assert first.key == again.key and len(first.key) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["secret.hex"]
    assert str(first.key) not in repr(first)


def test_secret_of_the_environment_is_used(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_SECRET_FILE", str(tmp_path / "env.hex"))
    assert load_secret().path == tmp_path / "env.hex"


@pytest.mark.parametrize("content", ["", "abc", "g" * 64, "0" * 63, "0" * 66, "0" * 5000])
def test_malformed_secret_is_a_sentence_and_never_replaced(content, tmp_path):
    path = tmp_path / "secret.hex"
    path.write_text(content)
    with pytest.raises(GraderError, match="malformed: expected 64 hexadecimal digits"):
        load_secret(path)
    assert path.read_text() == content


def test_readable_secret_gives_a_warning(tmp_path):
    path = tmp_path / "secret.hex"
    load_secret(path)
    path.chmod(0o644)
    assert "chmod 600" in load_secret(path).warnings[0]


def test_seeds_depend_on_secret_version_and_test_and_nothing_else():
    seeds = [
        derive_seed(b"k" * 32, "1", "decode"),
        derive_seed(b"l" * 32, "1", "decode"),
        derive_seed(b"k" * 32, "2", "decode"),
        derive_seed(b"k" * 32, "1", "prefill"),
        derive_seed(b"k" * 32, "1d", "ecode"),
    ]
    assert len(set(seeds)) == len(seeds)
    assert seeds[0] == derive_seed(b"k" * 32, "1", "decode") == 6533472057669065359


def test_missing_modules_come_from_the_solutions_stubs_not_from_the_checkout(tmp_path):
    """An instructor who has filled in assignment/ must not hand out that work."""
    course = Course.load()
    edited = dict.fromkeys((*course.given_files, *course.module_files), b"edited = True\n")
    course = replace(course, package=write_tree(tmp_path / "edited", edited))
    source = write_tree(tmp_path / "ana", {"attention.py": b"x = 1\n"})
    result = prepared(source, course, tmp_path / "out")
    stub = (result.folder / "assignment" / "rope.py").read_text()
    assert "raise NotImplementedError" in stub and "edited" not in stub
    assert "edited" not in (result.folder / "assignment" / "transformer.py").read_text()


def test_a_folder_inside_a_submission_takes_nobodys_id(tmp_path):
    """Two module folders in one upload look like a section; the names in it are not trusted."""
    course = Course.load()
    files = {f"aaron/{who}/attention.py": b"x = 1\n" for who in ("zoe", "yan")}
    files["zoe/attention.py"] = b"x = 2\n"
    found = find_submissions([write_tree(tmp_path / "class", files)], course)
    whose = {f.student: f.sources[0].relative_to(tmp_path / "class").as_posix() for f in found}
    assert whose["zoe"] == "zoe"
    assert whose["aaron_zoe"] == "aaron/zoe"


def test_a_class_of_one_so_far_is_a_class(course, tmp_path):
    """One student's folder, and one more without anything gradable: both keep their names."""
    (tmp_path / "class" / "ana").mkdir(parents=True)
    (tmp_path / "class" / "ana" / "attention.py").write_text("")
    assert [found.student for found in find_submissions([tmp_path / "class"], course)] == ["ana"]
    (tmp_path / "class" / "ben").mkdir()
    (tmp_path / "class" / "ben" / "notes.txt").write_text("")
    found = find_submissions([tmp_path / "class"], course)
    assert [(one.student, one.kind) for one in found] == [("ana", "folder"), ("ben", "nothing")]


def test_a_folder_named_as_the_homework_is_its_owners(course, tmp_path):
    (tmp_path / "ana" / "homework").mkdir(parents=True)
    (tmp_path / "ana" / "homework" / "attention.py").write_text("")
    assert [found.student for found in find_submissions([tmp_path / "ana"], course)] == ["ana"]


# --- names that were meant otherwise, and files that are nobody's --------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "attention (1).py",
        "Attention.py",
        "attention.py.txt",
        "attention-2.py",
        "attention - Copy.py",
        "ATTENTION.PY",
        "attention",
    ],
)
@pytest.mark.parametrize("form", ["folder", "zip"])
def test_a_module_under_another_name_is_told_and_not_guessed(name, form, course, tmp_path):
    files = {name: WORK, "rope.py": ROPE}
    if form == "folder":
        path = write_tree(tmp_path / "ana", files)
    else:
        path = zip_of(tmp_path / "ana.zip", files)
    (found,) = find_submissions([path], course)
    prepared = prepare(found, tmp_path / "out", course)
    told = f"found {name}: rename it to attention.py if it is meant"
    assert told in map(in_words, prepared.notes)
    assert prepared.from_stubs == ("attention.py",)


def test_a_whole_path_in_an_archive_is_taken_where_it_is_the_only_one(course, tmp_path):
    far = "Users/ana/Documents/course/hw1/assignment"
    files = {f"{far}/attention.py": WORK, f"{far}/rope.py": ROPE, "readme.py": b""}
    taken = prepared(zip_of(tmp_path / "ana.zip", files), course, tmp_path / "out")
    assert taken.taken == ("attention.py", "rope.py")
    files = {f"{far}/attention.py": WORK, f"{far}-old/attention.py": WORK}
    why = refusal(zip_of(tmp_path / "bob.zip", files), course, tmp_path / "bob")
    assert f"There are modules further down, in {far}/, {far}-old/." in why
    near = {"hw1/rope.py": ROPE, f"{far}/attention.py": WORK}
    taken = prepared(zip_of(tmp_path / "cyd.zip", near), course, tmp_path / "cyd")
    assert taken.taken == ("rope.py",)


@pytest.mark.parametrize("folder", ["", "hw1/assignment/"])
def test_a_module_under_another_name_is_taken_where_that_is_asked_for(folder, course, tmp_path):
    files = {f"{folder}attention (1).py": WORK, f"{folder}rope.py": ROPE}
    (found,) = find_submissions([zip_of(tmp_path / "ana.zip", files)], course)
    taken = prepare(found, tmp_path / "out", course, accept_names=True)
    assert taken.from_stubs == () and taken.taken == ("attention.py", "rope.py")
    assert (tmp_path / "out" / "assignment" / "attention.py").read_bytes() == WORK
    assert [in_words(note) for note in taken.notes] == [
        "attention (1).py was taken for attention.py"
    ]


def test_of_two_that_may_be_meant_none_is_taken(course, tmp_path):
    files = {"attention (1).py": WORK, "attention (2).py": WORK, "rope.py": ROPE, "Rope.py": ROPE}
    (found,) = find_submissions([write_tree(tmp_path / "ana", files)], course)
    done = prepare(found, tmp_path / "out", course, accept_names=True)
    assert done.from_stubs == ("attention.py",)
    assert [note.kind for note in done.notes if "near" in note.kind] == ["near_miss", "near_miss"]
    assert (tmp_path / "out" / "assignment" / "rope.py").read_bytes() == ROPE


def test_a_copy_beside_the_module_is_nothing_to_tell(course, tmp_path):
    files = {"attention.py": WORK, "attention (1).py": WORK, "rope.py": ROPE, "rope2.py": ROPE}
    (found,) = find_submissions([write_tree(tmp_path / "ana", files)], course)
    notes = prepare(found, tmp_path / "out", course).notes
    assert not any(note.kind == "near_miss" for note in notes)


@pytest.mark.parametrize("name", ["attention (1).py", "Attention.py", "attention.py.txt"])
def test_work_with_wrong_names_only_is_missing_with_what_to_do(name, course, tmp_path):
    write_tree(tmp_path / "class", {f"ana/{name}": WORK, "bob/rope.py": ROPE})
    archive = zip_of(tmp_path / "class" / "cyd.zip", {name: WORK})
    found = {one.student: one for one in find_submissions([tmp_path / "class"], course)}
    assert archive.exists() and sorted(found) == ["ana", "bob", "cyd"]
    for student in ("ana", "cyd"):
        with pytest.raises(NothingToGrade) as reason:
            prepare(found[student], tmp_path / student, course)
        assert str(reason.value).startswith(f"Note: found {name}: rename it to attention.py")
        assert " Hand in these files, in a folder or a zip archive" in str(reason.value)


def test_a_loose_file_of_a_wrong_name_is_told(course, tmp_path):
    files = {"doejane_12_34_Attention.py": WORK, "bob/rope.py": ROPE}
    found = find_submissions([write_tree(tmp_path / "class", files)], course)
    (nothing,) = (one for one in found if one.kind == "nothing")
    assert "found Attention.py: rename it to attention.py" in str(nothing.reason)


def test_files_beside_the_submissions_are_told(course, tmp_path):
    files = {
        "ana/rope.py": ROPE,
        "ana/report.pdf": b"her own, and not beside",
        "bob.pdf": b"%PDF",
        "grades.xlsx": b"",
        ".DS_Store": b"",
        "b/cyd/rope.py": ROPE,
        "b/dan/rope.py": ROPE,
        "b/eve/notes.txt": b"in a section",
        "b/fay.docx": b"",
    }
    stray: list[Path] = []
    found = find_submissions([write_tree(tmp_path / "class", files)], course, stray=stray)
    assert [one.student for one in found] == ["ana", "b_cyd", "b_dan"]
    assert sorted(path.name for path in stray) == ["bob.pdf", "eve", "fay.docx", "grades.xlsx"]
    told = passed_over([*stray, *map(Path, "xyz")])
    assert "not looked at: 7 (bob.pdf, eve, fay.docx, grades.xlsx, x, …)." in told


def test_a_class_of_unreadable_files_says_which(course, tmp_path):
    path = write_tree(tmp_path / "class", {"ana.pdf": b"", "Attention.py.txt": WORK})
    with pytest.raises(GraderError) as problem:
        find_submissions([path], course)
    assert "Other files there: 2 (Attention.py.txt, ana.pdf)." in str(problem.value)
    assert "rename it to attention.py" in str(problem.value)
