"""A semester as one story: every layout of the platforms, and each total worked out by hand.

The tests are made up: a submission's `attention.py` says how many of 10 it passes. All else is
real: finding, identity, records, history, policy, people's decisions, exports.
"""

import csv
import io
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from report_support import make_test
from typer.testing import CliRunner

from grader import grade_class as grader_run
from grader.base.errors import NothingToGrade
from grader.cli import main
from grader.intake.course import Course
from grader.intake.prepare import prepare, reason_hash
from grader.results.history import replace_record
from grader.results.record import make_result
from grader.results.summary import summarise
from grader.running.child import Grading

TESTS = 10
POLICY = """\
resubmissions = "attempt"
total = 100
[late]
due = 2026-10-05T23:59:00
time_zone = "Europe/Berlin"
percent_per_day = 10
extensions = "extensions.csv"
"""
# 30 people; whom the story names has a line in TOTALS, the others handed in on time and passed all.
PEOPLE = [f"P{n:02d}" for n in range(1, 31)]
GRADEBOOK = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework (7)\n    Points Possible,,,,,100\n"
)
GRADEBOOK += "".join(
    f'"Family{n}, Given{n}",{100 + n},P{n:02d},p{n:02d}@uni.edu,{"AB"[n % 2]},\n'
    for n in range(1, 31)
)
WRITTEN = 30.0  # points of the nine questions beside the 10 of the tests
TOTALS = {
    "P01": 100.0,
    "P02": 70.0,  # 7 of 10
    "P03": 80.0,  # all right, two days late: 20 % off
    "P04": 90.0,  # one day late, with an extension of one day; 9 of 10
    "P05": 60.0,  # 4 of 10, handed in again: 6
    "P06": 80.0,  # 8, handed in again: 3; the better counts
    "P07": 97.0,  # all right, 3 taken off by a person
    "P08": 55.0,  # set by a person after an appeal
    "P09": 0.0,  # a PDF
    "P10": 0.0,  # nothing at all
    "P11": 50.0,  # misnamed file, taken by --accept-names: 5 of 10
    "P12": 40.0,  # graded by the second TA: 4 of 10
}


def work(points: int, name: str = "attention.py") -> dict[str, str]:
    return {name: f"PASSES = {points}\n"}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def pack(path: Path, files: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


@pytest.fixture
def course(monkeypatch, tmp_path):
    """Commands in a folder of their own, and the version of the suite in use."""
    package = tmp_path / "course" / "assignment"
    package.mkdir(parents=True)
    for name in ("attention", "rope", "__init__"):
        (package / f"{name}.py").write_text("")
    homework = Course(package, ("attention", "rope"), ("__init__.py",), ("softmax",))
    suite = SimpleNamespace(
        hash="s1",
        blank_tests=(),
        real_model=None,
        hash_now=lambda _: suite.hash,
        close=lambda: None,
    )

    def grading(out, course, secret, sandbox, regrade, real_model) -> Grading:
        return Grading(out, print, suite, suite.hash, "1", course, sandbox, regrade=regrade)

    def grade_all(found, grading, jobs, done):
        for one in found:
            result = graded(one, grading, tmp_path / "prepared")
            replace_record(grading.out, result)
            done.append(summarise(result))
            yield done[-1]

    monkeypatch.setattr(grader_run.Course, "load", lambda: homework)
    monkeypatch.setattr(grader_run, "_grading", grading)
    monkeypatch.setattr(grader_run, "grade_all", grade_all)
    monkeypatch.setattr(grader_run, "_require_sandbox", lambda name: "made up")
    monkeypatch.setenv("GRADER_SECRET_FILE", str(tmp_path / "secret.hex"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, rc: int = 0) -> str:
        result = CliRunner().invoke(main.app, list(arguments))
        assert result.exit_code == rc, result.output
        return " ".join(result.output.split())

    return SimpleNamespace(run=run, suite=suite)


def graded(found, grading: Grading, place: Path):
    """A record by what the submission says of itself."""
    fields = {
        "student": found.student,
        "source": found.source_name,
        "suite_hash": grading.suite_hash,
        "suite_version": "1",
    }
    place.mkdir(exist_ok=True)
    folder = place / str(len(list(place.iterdir())))
    try:
        prepared = prepare(found, folder, grading.course, accept_names=grading.accept_names)
    except NothingToGrade as verdict:
        tests = made_up(0, "not_started")
        hashed = reason_hash(str(verdict))
        return make_result(**fields, submission_hash=hashed, state="missing", tests=tests)
    text = (folder / "assignment" / "attention.py").read_text()
    points = int(re.sub(r"\D", "", text) or 0)
    return make_result(
        **fields,
        submission_hash=prepared.submission_hash,
        state="graded",
        tests=made_up(points),
        notes=prepared.notes,
    )


def made_up(points: int, wrong: str = "failed") -> list:
    states = ["passed" if n < points else wrong for n in range(TESTS)]
    return [
        make_test(4, "4.3", f"t{n}", f"t{n}", "public", state=state)
        for n, state in enumerate(states)
    ]


def hand_in() -> None:
    """Everybody's work, as five platforms and habits lay it out."""
    place = Path("class")
    for n in range(1, 31):
        who, points = f"P{n:02d}", 10
        if who in ("P10", "P12"):
            continue
        points = {"P02": 7, "P04": 9, "P05": 4, "P06": 8, "P11": 5}.get(who, points)
        canvas, moodle = f"family{n}given{n}_{100 + n}_{900 + n}", f"Given{n} Family{n}_{100 + n}"
        if who == "P09":
            write(place, {f"{canvas}_answers.pdf": "%PDF"})
        elif who == "P11":
            write(place / who, work(points, "attention (1).py") | {"rope.py": "x = 1\n"})
        elif n % 5 == 0:
            write(place, {f"{canvas}_{name}": text for name, text in work(points).items()})
        elif n % 5 == 1:
            pack(place / f"{moodle}_assignsubmission_file_" / "hw.zip", work(points))
        elif n % 5 == 2:
            write(place / "AB"[n % 2] / who, work(points))  # sections of folders
        elif n % 5 == 3:
            pack(place / f"p{n:02d}@uni.edu.zip", work(points))  # by address
        else:
            write(place / who / "assignment", work(points))


def test_a_semester(course):
    run = course.run
    hand_in()
    Path("gradebook.csv").write_text(GRADEBOOK)
    Path("policy.toml").write_text(POLICY)
    Path("extensions.csv").write_text("student,days\nP04,1\n")
    times = {"P03": "2026-10-07T12:00:00", "P04": "2026-10-06T20:00:00"}
    names = {"P03": "p03_uni.edu", "P04": "P04"}  # the ids of their results
    rows = [f"{names[who]},{who},{at}" for who, at in times.items()]
    Path("times.csv").write_text("\n".join(["submission,student,submitted_at", *rows]) + "\n")

    # The first run, the list of the course, and whose is not known.
    said = run("run", "class")
    assert "may be meant for a module under another name: P11" in said
    assert "30 students: results/roster.csv" in run("roster", "import", "gradebook.csv")
    said = run("roster", "match")
    assert "nobody on the roster" not in said and "may be" not in said
    assert "P10 Given10 Family10: has handed in nothing" in said
    run("run", "--only", "P11", "--accept-names", "--regrade")

    # Two hand in again, one alone by her file; the others' results stay.
    write(Path("class"), {"family5given5_105_905_attention.py": "PASSES = 6\n"})
    pack(Path("class/Given6 Family6_106_assignsubmission_file_/hw.zip"), work(3))
    run("run", "class/family5given5_105_905_attention.py", "--regrade")
    run("run", "class/Given6 Family6_106_assignsubmission_file_/hw.zip", "--regrade")
    assert len(list(Path("results").glob("*.json"))) == 28

    # People's words; one of them before the suite changes.
    options = ("--policy", "policy.toml", "--submitted", "times.csv")
    run("adjust", "P07", "--points", "-3", "--reason", "talked in the test", *options)
    run("adjust", "P08", "--appeal", "the mask is right", *options)
    run("adjust", "P08", "--override", "55", "--settle", "--reason", "as in the oral", *options)

    # A second TA graded one who came late to the course.
    write(Path("late/P12"), work(4))
    run("run", "late", "--out", "ta2")
    assert "1 new, 0 replaced" in run("merge", "ta2", "--into", "results")

    # A test is mended: the suite is another, the class is mixed until all are graded again.
    course.suite.hash = "s2"
    said = run("run", "class", "--only", "P24", "--regrade")
    assert "this class is mixed" in said
    said = run("export", "--to", "csv", *options, rc=2)
    assert "Nothing was exported; --mixed exports all the same" in said
    run("run", "class", "late", "--accept-names", "--regrade")
    # What the old suite said of P06's better work does not count by the new one: the instructor has
    # it graded once more, and then what came last.
    for points in (8, 3):
        pack(Path("class/Given6 Family6_106_assignsubmission_file_/hw.zip"), work(points))
        run("run", "class", "late", "--accept-names", "--regrade")

    # Grades out: literals, in every form.
    said = run("export", "--to", "csv", *options)
    assert said.startswith("30 scores: scores.csv")
    table = csv.DictReader(io.StringIO(Path("scores.csv").read_text(encoding="utf-8-sig")))
    grades = {row["student"]: (row["name"], float(row["final"])) for row in table}
    assert grades == {
        who: (f"Given{n} Family{n}", TOTALS.get(who, 100.0))
        for n, who in enumerate(PEOPLE, start=1)
    }
    run("export", "--to", "canvas", "--into", "gradebook.csv", "--column", "Homework (7)", *options)
    filled = csv.DictReader(io.StringIO(Path("gradebook-graded.csv").read_text()))
    canvas = {row["SIS User ID"]: row["Homework (7)"] for row in filled if row["SIS User ID"]}
    assert {who: float(grade) for who, grade in canvas.items()} == {
        who: TOTALS.get(who, 100.0) for who in PEOPLE
    }

    # And back to the students.
    said = run("feedback", "--to", "mail", "--from", "ta@uni.edu", *options)
    assert "29 letters: feedback/mail/" in said
    assert "Without a graded submission and so without feedback (1): P10." in said
    letter = Path("feedback/mail/P07.eml").read_text()
    assert "To: p07@uni.edu" in letter and "you have 97 of 100 points" in letter
    page = Path("feedback/pages/P08.html").read_text(encoding="utf-8")
    assert "Given8 Family8" in page and "as in the oral" in page
    said = run("statistics", "results", *options)
    assert "mean" in said
