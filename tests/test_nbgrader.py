"""The homework in nbgrader, with nbgrader's own programs: a course made, collected, graded in a
kernel and in the sandbox, feedback and CSV, formgrader in a browser."""

import contextlib
import csv
import hashlib
import json
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from nbgrader_support import (
    ALL_PARTS,
    ASSIGNMENT,
    copy_course,
    environment,
    grades,
    marks,
    nbformat,
    nbgrader,
    opened,
    pack,
    python,
    read,
    solved,
    submit,
    totals,
)
from typer.testing import CliRunner

from assignment.harness.parts import PARTS
from grader.authoring.in_words import questions
from grader.base.errors import GraderError
from grader.base.notes import in_words
from grader.base.seeds import load_secret
from grader.cli import main
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import find_submissions
from grader.integrations.nbgrader import gradebook as gradebook_module
from grader.integrations.nbgrader.autograde import autograde
from grader.integrations.nbgrader.cells import grade_cells
from grader.integrations.nbgrader.gradebook import write_scores
from grader.sandbox import SandboxUnavailable, choose_sandbox
from grader.sandbox.remote import RemoteStudent

HONEST = ("ana", "bo", "cy")
PATCHES = "mallory-patches"
WRITES = "mallory-writes"
# What makes of softmax and attention a program that deserves nothing.
ATTACKS = {
    # nbgrader's tests run beside it: whatever they call can be exchanged.
    PATCHES: """
import assignment.harness.notebook as tests
tests.run_test = lambda *args, **kwargs: None
softmax = scaled_dot_product_attention = lambda *args, **kwargs: None
""",
    # As does the gradebook: a person's score takes precedence.
    WRITES: """
import contextlib, pathlib, sqlite3
softmax = scaled_dot_product_attention = lambda *args, **kwargs: None
for folder in pathlib.Path.cwd().parents:
    if (folder / "gradebook.db").exists():
        with contextlib.closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
            gradebook.execute(
                "UPDATE grade SET manual_score = (SELECT max_score FROM grade_cells"
                " WHERE grade_cells.id = grade.cell_id) WHERE auto_score IS NULL AND notebook_id IN"
                " (SELECT n.id FROM submitted_notebook n JOIN submitted_assignment a"
                " ON n.assignment_id = a.id WHERE a.student_id = 'mallory-writes')"
            )
            gradebook.commit()
""",
    "mallory-equals": """
class Always:
    shape, dtype, ndim = (), np.dtype(float), 0
    def __eq__(self, other): return True
    def __array__(self, *args, **kwargs): return np.zeros(())
    def __getattr__(self, name): return lambda *args, **kwargs: self
softmax = scaled_dot_product_attention = lambda *args, **kwargs: Always()
""",
    "mallory-nan": """
softmax = lambda x, axis=-1: np.full_like(x, np.nan)
scaled_dot_product_attention = lambda q, k, v, mask=None: np.full(
    (*q.shape[:-1], v.shape[-1]), np.nan, q.dtype)
""",
    "mallory-exits": """
import os, sys
def softmax(*args, **kwargs): os._exit(0)
def scaled_dot_product_attention(*args, **kwargs): sys.exit(0)
sys.exit(0)
""",
}


def bos_mistakes(name: str, source: str) -> str:
    """No scale in part 1, position 0 in part 4; and two helpers of one name in two notebooks."""
    if name == "scaled_dot_product_attention":
        return (
            source.replace("math.sqrt(q.shape[-1])", "helper()") + "\n\ndef helper():\n    return 1"
        )
    if name == "rope_frequencies":
        source = source.replace("np.arange(0, head_dim, 2)", "helper(head_dim)")
        return source + "\n\ndef helper(head_dim):\n    return np.arange(0, head_dim, 2)"
    if name == "prefill":
        return source.replace("np.arange(start, start + length)", "np.arange(0, length)")
    return source


def cys_start(name: str, source: str) -> str | None:
    """Part 1, and of part 2 the beginning; the last function is still the stub."""
    if name == "softmax":  # right, with a warning on stderr, where nbgrader sees a failure
        return (
            "def softmax(x, axis=-1):\n    import warnings\n    warnings.warn('careful')\n"
            "    e = np.exp(x - x.max(axis=axis, keepdims=True))\n"
            "    return e / e.sum(axis=axis, keepdims=True)"
        )
    return None if name == "multi_head_attention" else source


def attack(course: Path, name: str) -> dict:
    return {1: solved(course, 1, lambda _, source: ATTACKS[name])}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course with three students' and two attackers' notebooks collected; nothing is graded."""
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    load_secret(secret(folder))  # made before the first kernel asks for it
    made = CliRunner().invoke(main.app, ["nbgrader", "init", str(folder)])
    assert made.exit_code == 0, made.output
    nbgrader(folder, "generate_assignment", ASSIGNMENT)
    pack(folder, "ana", {part: solved(folder, part) for part in ALL_PARTS})
    pack(folder, "bo", {part: solved(folder, part, bos_mistakes) for part in (1, 2, 3, 4, 5)})
    cys = {part: solved(folder, part, cys_start, answers=False) for part in (1, 2)}
    pack(folder, "cy_LATE_1234_5678_my homework", cys)
    for name in (PATCHES, WRITES):
        pack(folder, name, attack(folder, name))
    nbgrader(folder, "zip_collect", ASSIGNMENT)
    return folder


@pytest.fixture(scope="module")
def by_kernel(course) -> Path:
    """Graded by nbgrader itself."""
    graded = copy_course(course, course.parent / "kernel" / "course")
    shutil.copyfile(course.parent / "secret.hex", graded.parent / "secret.hex")
    nbgrader(graded, "autograde", ASSIGNMENT)
    return graded


@pytest.fixture(scope="module")
def by_sandbox(course) -> Path:
    """Graded in the sandbox, more attackers among the students."""
    choose_any_sandbox()
    graded = copy_course(course, course.parent / "sandbox" / "course")
    for name in ATTACKS.keys() - {PATCHES, WRITES}:
        submit(graded, name, attack(graded, name))
    report = autograde(graded, create_students=True, quiet=True, secret_file=secret(course))
    assert report.not_written == {}
    assert set(report.written) == {*HONEST, *ATTACKS}
    return graded


@pytest.fixture
def small(course, tmp_path) -> Path:
    """A copy to break: the configuration, the gradebook, and Ana's notebooks; she is known."""
    copy = tmp_path / "course"
    copy.mkdir()
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copyfile(course / name, copy / name)
    shutil.copytree(course / "submitted" / "ana", copy / "submitted" / "ana")
    with opened(copy) as gradebook:
        gradebook.add_student("ana")
    return copy


def secret(course: Path) -> Path:
    """The secret of the whole module: both ways of grading see the same hidden cases."""
    return course.parent / "secret.hex"


def fingerprint(course: Path) -> str:
    return hashlib.sha256((course / "gradebook.db").read_bytes()).hexdigest()


# ------------------------------------------------------------------------------------- notebooks

RUN_ALL_CELLS = """
import os, pathlib, sys
import nbformat
source, release = map(pathlib.Path, sys.argv[1:])
for folder in (source, release):
    os.chdir(folder)
    for path in sorted(folder.glob("part*.ipynb")):
        namespace = {"__name__": "__main__"}
        for cell in nbformat.read(path, 4).cells:
            grade = cell.metadata.get("nbgrader", {}).get("grade")
            if cell.cell_type != "code":
                continue
            try:
                exec(compile(cell.source, path.name, "exec"), namespace)
                failed = False
            except AssertionError as problem:
                failed = True
                assert "is not implemented yet" in str(problem), problem
            assert failed == bool(grade and folder == release), (path, cell.source)
print("all as expected")
"""


def test_every_cell_passes_with_the_solution_and_fails_as_released(course):
    """Without a kernel, which takes seconds a notebook; two of each go through nbgrader below."""
    folders = [str(course / step / ASSIGNMENT) for step in ("source", "release")]
    finished = python(RUN_ALL_CELLS, *folders, home=course.parent)
    assert finished.stdout.strip() == "all as expected", finished.stderr[-3000:]


def test_validate_and_its_inverse(course):
    source, release = (f"{step}/{ASSIGNMENT}/part7.ipynb" for step in ("source", "release"))
    assert "Success!" in nbgrader(course, "validate", source)
    assert "Success!" in nbgrader(course, "validate", "--invert", release)


def test_the_release_tells_no_solution_no_hidden_test_and_no_rubric(course):
    for part in ALL_PARTS:
        source, text = read(course, "source", part), str(read(course, "release", part))
        assert "HIDDEN" not in text and "grader." not in text
        assert "BEGIN SOLUTION" not in text
        assert not any(question.answer[:40] in text for question in questions())
        for cell in source.cells:
            regions = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", cell.source, re.S)
            lines = [line.strip() for line in "".join(regions).splitlines()]
            assert bool(lines) == bool(marks(cell).get("solution"))
            assert not any(line in text for line in lines if len(line) > 35)
    package = course / "release" / ASSIGNMENT / "assignment"
    assert not any((package / f"{part.module}.py").exists() for part in PARTS)


def test_the_notebooks_hold_every_test_and_every_question_once(course):
    from grader.grading.suite import Suite, collect

    tests = collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    in_cells = [test for cell in grade_cells() for test in cell.tests]
    assert sorted(in_cells) == sorted(test.id for test in tests)
    points = {}
    for part in ALL_PARTS:
        for cell in read(course, "source", part).cells:
            if marks(cell).get("grade"):
                assert (part, marks(cell)["grade_id"]) not in points
                points[part, marks(cell)["grade_id"]] = marks(cell)["points"]
    by_hand = sum(question.points for question in questions())
    assert sum(points.values()) == pytest.approx(sum(t.max_points for t in tests) + by_hand)
    for question in questions():
        assert sum(int(line.split(":")[0]) for line in question.rubric) == question.points


def test_a_course_is_not_written_over(course):
    before = (course / "source" / ASSIGNMENT / "part1.ipynb").read_bytes()
    again = CliRunner().invoke(main.app, ["nbgrader", "init", str(course)])
    assert again.exit_code == main.EXIT_USAGE and "exists already" in again.output
    assert (course / "source" / ASSIGNMENT / "part1.ipynb").read_bytes() == before


# --------------------------------------------------------------------------------------- grading


def test_both_ways_give_honest_work_the_same_score_in_every_cell_but_for_charges(
    by_kernel, by_sandbox
):
    kernel, sandbox = grades(by_kernel), grades(by_sandbox)
    honest = {key for key in kernel if key[0] in HONEST}
    assert len(honest) == 3 * (len(grade_cells()) + len(questions()))
    differs = {key for key in honest if kernel[key] != sandbox[key]}
    # A part that others are right without is charged; nbgrader itself, whose notebooks have trusted
    # versions of all other parts, runs no test twice that could show it.
    assert {key[:2] for key in differs} == {("bo", "part1"), ("bo", "part4")}
    assert all(sandbox[key][0] < kernel[key][0] for key in differs)
    automatic = sum(cell.points for cell in grade_cells())
    scores = totals(by_sandbox)
    assert scores["ana"] == pytest.approx(automatic)
    # Bo's mistakes cost the parts they are in, not those that call them.
    lost = {key[1] for key in honest if key[0] == "bo" and sandbox[key][0] == 0}
    not_handed_in = {f"part{part}" for part in ALL_PARTS if part > 5}
    assert lost == {"part1", "part4"} | not_handed_in
    of_part = {p: sum(c.points for c in grade_cells() if c.part == p) for p in (1, 2)}
    assert of_part[1] < scores["cy"] < of_part[1] + of_part[2]


def test_answers_in_words_wait_for_a_person_unless_there_is_none(by_kernel, by_sandbox):
    for course in (by_kernel, by_sandbox):
        found = grades(course)
        assert found["ana", "part4", "why-no-q-cache"] == (None, True)
        assert found["cy", "part2", "bidirectional-model"] == (0, False)
        assert found["cy", "part4", "why-no-q-cache"] == (0, False)


def test_what_wins_in_a_kernel_wins_nothing_in_the_sandbox(by_kernel, by_sandbox):
    full = sum(cell.points for cell in grade_cells() if cell.part == 1)
    kernel, sandbox = totals(by_kernel), totals(by_sandbox)
    assert kernel[PATCHES] == pytest.approx(full)
    assert kernel[WRITES] >= full
    assert {name: sandbox[name] for name in ATTACKS} == dict.fromkeys(ATTACKS, 0.0)


def test_comments_name_the_bug_and_tell_no_hidden_case(by_sandbox):
    with opened(by_sandbox) as gradebook:
        comment = {
            name: gradebook.find_comment(f"write-{name}", "part4", ASSIGNMENT, "bo").comment
            for name in ("decode_step", "KVCache")
        }
    assert "rotates every new token as if it stood at position 0" in comment["decode_step"]
    title = "Decode of several rows up to some seventy positions"
    assert f"✗ {title} (hidden test)" in comment["decode_step"]
    assert "✗ Tokens taken back with truncate" in comment["KVCache"]
    by_name = {marks(c).get("grade_id"): c for c in read(by_sandbox, "autograded", 4, "bo").cells}
    (output,) = by_name["test_decode-mha"].outputs
    assert output.output_type == "error" and "first wrong at" in output.evalue + str(output)
    (output,) = by_name["test_long_decode"].outputs
    assert output.traceback == ["this hidden test fails"]


def test_feedback_and_csv(by_sandbox):
    nbgrader(by_sandbox, "generate_feedback", ASSIGNMENT, "--student=bo")
    page = by_sandbox / "feedback" / "bo" / ASSIGNMENT / "part4.html"
    text = page.read_text(encoding="utf-8")
    assert "rotates every new token as if it stood at position 0" in text
    assert "first wrong at" in text and "this hidden test fails" in text
    pictures = re.findall(r'<img[^>]* src="([^"]{30})', text)
    assert pictures and all(source.startswith("data:image/svg") for source in pictures)
    nbgrader(by_sandbox, "export")
    with (by_sandbox / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(rows[name]["raw_score"]) for name in rows} == totals(by_sandbox)
    assert rows.keys() == {*HONEST, *ATTACKS}
    assert float(rows["ana"]["max_score"]) == sum(c.points for c in grade_cells()) + sum(
        question.points for question in questions()
    )


def test_a_second_run_grades_nothing_and_keeps_what_people_entered(by_sandbox, tmp_path):
    """Manual scores, extra credit, comments, an extension and a late penalty."""
    course = copy_course(by_sandbox, tmp_path / "course")
    cell = ("part1", ASSIGNMENT, "bo")
    with opened(course) as gradebook:
        grade = gradebook.find_grade("test_attention_plain", *cell)
        grade.manual_score, grade.extra_credit = 1.5, 0.25
        gradebook.find_grade("roles-of-q-k-v", *cell).manual_score = 2
        gradebook.find_comment("write-softmax", *cell).manual_comment = "well done"
        gradebook.find_submission_notebook(*cell).late_submission_penalty = 3
        gradebook.grant_extension(ASSIGNMENT, "bo", days=2)
        gradebook.db.commit()
        expected = gradebook.find_submission(ASSIGNMENT, "bo").score
    stamp = course / "submitted" / "bo" / ASSIGNMENT / "timestamp.txt"
    stamp.write_text("2026-10-01 12:00:00 UTC")
    results = sorted((course / "results").glob("*.json"))
    before = [path.read_bytes() for path in results]
    report = autograde(course, student="bo", quiet=True, secret_file=secret(by_sandbox.parent))
    assert report.written == ["bo"]
    assert [path.read_bytes() for path in results] == before
    with opened(course) as gradebook:
        grade = gradebook.find_grade("test_attention_plain", *cell)
        assert (grade.auto_score, grade.manual_score, grade.extra_credit) == (0, 1.5, 0.25)
        assert grade.needs_manual_grade  # as nbgrader asks for, where both have a score
        assert gradebook.find_grade("roles-of-q-k-v", *cell).score == 2
        assert gradebook.find_comment("write-softmax", *cell).comment == "well done"
        assert gradebook.find_submission_notebook(*cell).late_submission_penalty == 3
        submission = gradebook.find_submission(ASSIGNMENT, "bo")
        assert submission.extension == timedelta(days=2) and submission.score == expected
        assert submission.timestamp == datetime(2026, 10, 1, 12)


# ------------------------------------------------------------------------------------- bad input


def refuse(course: Path, words: str, **options) -> None:
    """Autograding ends in a sentence with these words, and the gradebook is as it was."""
    before = fingerprint(course)
    with pytest.raises(GraderError, match=words):
        autograde(course, quiet=True, secret_file=course.parent / "secret.hex", **options)
    assert fingerprint(course) == before
    assert not (course / "autograded").exists()


def test_students_whom_the_gradebook_does_not_know_are_listed(small):
    for name in ("zoe", "yan"):
        shutil.copytree(small / "submitted" / "ana", small / "submitted" / name)
    refuse(small, "does not know yan, zoe")


def test_a_student_who_has_not_handed_in(small):
    refuse(small, "'dan' has not handed in .* There is: ana", student="dan")


def test_two_submissions_of_one_student(small):
    shutil.copytree(small / "submitted" / "ana", small / "submitted" / "Ana")
    refuse(small, "look like one student each: Ana and ana")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE alembic_version SET version_num = 'b6d005d67074'", "older nbgrader .*db upgrade"),
        ("DROP TABLE alembic_version", "older nbgrader .*without a version"),
        ("UPDATE alembic_version SET version_num = 'ffffffffffff'", "newer nbgrader"),
    ],
)
def test_a_gradebook_of_another_nbgrader(small, statement, words):
    with contextlib.closing(sqlite3.connect(small / "gradebook.db")) as database:
        database.execute(statement)
        database.commit()
    refuse(small, words)


def test_a_locked_gradebook(small, monkeypatch):
    monkeypatch.setattr(gradebook_module, "LOCK_PATIENCE_S", 0.05)
    with contextlib.closing(sqlite3.connect(small / "gradebook.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        refuse(small, "is locked: another program, perhaps formgrader")


def test_a_gradebook_that_is_locked_while_scores_are_written(small, monkeypatch, capfd):
    config = small / "nbgrader_config.py"
    url = f"sqlite:///{small}/gradebook.db?timeout=0.05"
    config.write_text(f"{config.read_text()}\nc.CourseDirectory.db_url = {url!r}\n")
    monkeypatch.setattr(gradebook_module, "_require_unlocked", lambda course: None)
    before = fingerprint(small)
    with contextlib.closing(sqlite3.connect(small / "gradebook.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GraderError, match="is locked: another program, perhaps formgrader"):
            write_scores(small, ASSIGNMENT, {"ana": {grade_cells()[0].key: 1.0}})
    assert fingerprint(small) == before and "Traceback" not in capfd.readouterr().err


def test_scores_are_written_together_or_not_at_all(small):
    """One transaction: the second student's trouble takes back what the first one got."""
    with opened(small) as gradebook:
        gradebook.add_student("bo")
    before = fingerprint(small)
    cell = grade_cells()[0]
    scores = {"ana": {cell.key: 1.0}, "bo": {("part1", "no-such-cell"): 1.0}}
    with pytest.raises(GraderError, match="no cell part1/no-such-cell"):
        write_scores(small, ASSIGNMENT, scores)
    assert fingerprint(small) == before and totals(small) == {}
    write_scores(small, ASSIGNMENT, {"ana": {cell.key: 1.0}})
    assert totals(small) == {"ana": 1.0}


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"nbformat": 5}, "part3.ipynb: The notebook has format 5; expected format 4"),
        ({"cells": [{"cell_type": "code", "source": "1"}]}, "nbgrader cannot read part3.ipynb"),
        ("not JSON", "part3.ipynb: The notebook is not readable JSON"),
    ],
)
def test_a_notebook_that_cannot_be_read_changes_no_score(small, edit, words, monkeypatch):
    path = small / "submitted" / "ana" / ASSIGNMENT / "part3.ipynb"
    content = edit if isinstance(edit, str) else json.dumps(json.loads(path.read_text()) | edit)
    path.write_text(content)
    before = fingerprint(small)
    monkeypatch.setattr(
        "grader.integrations.nbgrader.autograde.grade_class", lambda *args, **options: None
    )
    monkeypatch.setattr("grader.integrations.nbgrader.autograde.read_record", all_passed)
    report = autograde(small, quiet=True)
    assert report.written == [] and words in report.not_written["ana"]
    assert fingerprint(small) == before and not (small / "autograded").exists()


def all_passed(folder: Path, student: str):
    from grader.grading.suite import Suite, collect
    from grader.results.record import make_result

    tests = collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    passed = [t.model_copy(update={"state": "passed", "points": t.max_points}) for t in tests]
    fields = {"source": "", "submission_hash": "", "suite_hash": "", "suite_version": "1"}
    return make_result(student=student, state="graded", tests=passed, **fields), ""


def test_the_graders_own_failure_is_no_zero(small, monkeypatch):
    def failed(folder, student):
        result, note = all_passed(folder, student)
        return result.model_copy(update={"state": "error", "reason": "No sandbox."}), note

    before = fingerprint(small)
    monkeypatch.setattr(
        "grader.integrations.nbgrader.autograde.grade_class", lambda *args, **options: None
    )
    monkeypatch.setattr("grader.integrations.nbgrader.autograde.read_record", failed)
    command = ["nbgrader", "autograde", str(small), "--quiet"]
    shown = CliRunner().invoke(main.app, command)
    assert shown.exit_code == 1 and "Not written: ana: No sandbox." in shown.output
    assert fingerprint(small) == before


def test_no_course_no_assignment_nothing_handed_in(small, tmp_path):
    with pytest.raises(GraderError, match="is not an nbgrader course"):
        autograde(tmp_path)
    refuse(small, "Nobody has handed in 'other'", assignment="other")
    shutil.copytree(small / "submitted" / "ana" / ASSIGNMENT, small / "submitted" / "ana" / "other")
    refuse(small, "no assignment 'other'; there is: attention", assignment="other")
    (small / "gradebook.db").rename(small / "elsewhere.db")
    with pytest.raises(GraderError, match="There is no gradebook"):
        autograde(small)
    assert not (small / "gradebook.db").exists()


def test_an_assignment_of_another_version(small):
    with opened(small) as gradebook:
        gradebook.find_grade_cell("test_absorb", "part6", ASSIGNMENT).max_score = 5
        gradebook.db.commit()
    refuse(small, "1 graded cells differ, the first is part6/test_absorb")


# ------------------------------------------------------------------------------------ formgrader


@pytest.fixture
def server(by_sandbox):
    """A Jupyter server with formgrader, its address and token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token=t"]
    with (by_sandbox.parent / "server.log").open("w+") as log:
        home = environment(by_sandbox.parent)
        process = subprocess.Popen(command, cwd=by_sandbox, env=home, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(f"{address}/api/status?token=t", process, log.name)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _wait_for(address: str, process: subprocess.Popen, log: str) -> None:
    for _ in range(600):
        with contextlib.suppress(OSError), urllib.request.urlopen(address):
            return
        assert process.poll() is None, Path(log).read_text()
        time.sleep(0.2)
    raise AssertionError(Path(log).read_text())


def test_formgrader_shows_the_assignment_and_its_submissions(by_sandbox, server, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is not installed")

    def page(path: str) -> str:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=60000"]
        options += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        command = [browser, *options, f"{server}/formgrader/{path}?token=t"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    listed = page("manage_assignments")
    assert f"gradebook/{ASSIGNMENT}" in listed or f">{ASSIGNMENT}</a>" in listed
    assert f"{len(HONEST) + len(ATTACKS)}</a>" in listed  # submissions
    with opened(by_sandbox) as gradebook:
        part4 = gradebook.find_submission_notebook("part4", ASSIGNMENT, "bo").id
    shown = page(f"submissions/{part4}/")
    assert "rotates every new token as if it stood at position 0" in shown
    assert "Part 4: KV cache and decode" in shown


# --------------------------------------------------------------- several notebooks, one submission

TWO_NOTEBOOKS = {
    1: [
        "import numpy as np\ndef helper(): return 1.0\n"
        "def softmax(x, axis=-1): return np.full_like(x, helper())"
    ],
    2: [
        "def helper(): return 2.0\n"
        "def softmax(x): return 'a copy that belongs to this notebook only'\n"
        "def merge_heads(x): return helper()\n"
        "def split_heads(x, n_heads): return softmax(x)"
    ],
    3: ["def apply_rope(x, positions): return softmax(x)"],
}


@pytest.fixture
def two_notebooks(tmp_path) -> Path:
    """A class folder in which Ana handed in three notebooks; the third part's file is broken."""
    folder = tmp_path / "class" / "ana"
    folder.mkdir(parents=True)
    for part, cells in TWO_NOTEBOOKS.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        handed_out = {"nbgrader": {"grade": True, "locked": True, "solution": False}}
        notebook.cells.append(nbformat.v4.new_code_cell("softmax = 0", metadata=handed_out))
        (folder / f"part{part}.ipynb").write_text(nbformat.writes(notebook))
    (folder / "part4.ipynb").write_text("{}")
    (folder.parent / "bob.ipynb").write_text("{}")
    return folder.parent


def test_notebooks_of_several_parts_are_one_submission(two_notebooks, tmp_path):
    found = find_submissions([two_notebooks], Course.load())
    assert [one.student for one in found] == ["ana", "bob"]
    prepared = prepare(found[0], tmp_path / "prepared", Course.load())
    assert any(
        "part4.ipynb: The file is JSON but not a notebook" in in_words(n) for n in prepared.notes
    )
    with RemoteStudent(choose_any_sandbox(), prepared.folder) as remote:
        x = np.zeros((1, 2))
        # Each notebook has a namespace of its own, and a function belongs to its part's notebook.
        assert remote.softmax(x).tolist() == [[1, 1]]
        assert remote.merge_heads(x) == 2.0
        assert remote.split_heads(x, 1) == "a copy that belongs to this notebook only"
        assert remote.apply_rope(x, x).tolist() == [[1, 1]]


def choose_any_sandbox():
    try:
        return choose_sandbox("auto")
    except SandboxUnavailable as reason:
        pytest.skip(f"no sandbox here: {reason}")
