"""The roster: what platforms export becomes one, and whose a submission is by it."""

import csv
import io
import itertools
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import make_record, make_test
from typer.testing import CliRunner

from grader import grade_class as grader_run
from grader.base.errors import GraderError, NothingToGrade
from grader.cli import main
from grader.grades.class_scores import record_of, score_class
from grader.grades.policy_file import Policy
from grader.grades.roster import Roster, Student, checked, match, read_roster, write_roster
from grader.intake.course import Course
from grader.intake.ids import student_id
from grader.intake.prepare import prepare, reason_hash
from grader.integrations.rosters import read_export, times_csv, with_decisions
from grader.results.history import replace_record
from grader.results.record import make_result, write_record
from grader.results.summary import summarise
from grader.running.child import Grading

ANA = Student("1001", "Ana Alba", "ana@uni.edu", "B", ("12",))
BEN = Student("1002", "Ben Böhm", "ben@uni.edu", "A", ("13",))
LI = Student("1003", "李 小明", "li@uni.edu", "A")
ROSTER = Roster((ANA, BEN, LI))

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Lecture 2 (77)
,,,,,Manual Posting
    Points Possible,,,,,100
"Alba, Ana",12,1001,ana@uni.edu,B,
"Böhm, Ben",13,1002,ben@uni.edu,A,
"Student, Test",99,,x9,A,
"""
MOODLE = """\
Identifier,Full name,Email address,Status,Last modified (submission),Grade
Participant 12,Ana Alba,ana@uni.edu,Submitted,"Monday, 5 October 2026, 11:59 PM",-
Participant 13,Ben Böhm,ben@uni.edu,No submission,-,-
"""
GRADESCOPE = """\
First Name,Last Name,SID,Email,Role,Sections
Ana,Alba,1001,ana@uni.edu,Student,B
Ben,Böhm,1002,ben@uni.edu,Student,A
Tom,Teacher,7,tom@uni.edu,Instructor,
"""
METADATA = """\
---
submission_501:
  :submitters:
  - :name: Ana Alba
    :sid: '1001'
    :email: ana@uni.edu
  :created_at: 2026-10-05 21:59:00.123456789 Z
  :score: 0.0
submission_502:
  :created_at: 2026-10-06 08:00:00.000000000 -07:00
  :submitters:
  - :email: ben@uni.edu
    :name: Ben Böhm
    :sid: '1002'
  - :email: li@uni.edu
    :name: 李 小明
    :sid: '1003'
"""


def exported(tmp_path, name: str, text: str):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_export(path)


@pytest.mark.parametrize(
    ("submission", "owner"),
    [
        ("1001", ANA),
        ("ana@uni.edu", ANA),
        ("ana_uni.edu", ANA),  # the address as an id that is safe as a file name
        ("B_1001", ANA),
        (student_id("albaana_LATE_12_345_hw.zip"), ANA),
        (student_id("Ana Alba_12_assignsubmission_file_"), ANA),
        ("albaana_999", ANA),
        ("Ana_Alba", ANA),
        ("bohmben_7", BEN),
        ("李小明", LI),
    ],
)
def test_a_submission_is_matched_by_id_address_number_or_name(submission, owner):
    assert ROSTER.whose(submission) == (owner,)


def test_nobody_is_matched_by_a_part_of_a_name_or_by_anothers_number():
    assert ROSTER.whose("ana") == () and ROSTER.whose("submission_501") == ()
    twins = Roster((Student("1", "Ana Alba"), Student("2", "Alba Ana")))
    assert len(twins.whose("Ana_Alba_5")) == 2


def test_what_is_unknown_or_doubtful_is_listed_and_who_is_absent_too():
    twins = Roster((*ROSTER.students, Student("1004", "Alba Ana")))
    found = match(twins, ["ben@uni.edu", "Ana_Alba_9", "zoe"])
    assert found.of == {"ben@uni.edu": BEN} and found.unknown == ("zoe",)
    assert found.ambiguous == {"Ana_Alba_9": ("1001", "1004")}
    assert [student.id for student in found.absent] == ["1001", "1003", "1004"]
    assert match(ROSTER, ["zoe", "yan"]).is_of_another_course


def test_a_decision_is_kept_and_goes_before_all_guesses(tmp_path):
    twins = Roster((*ROSTER.students, Student("1004", "Alba Ana")))
    decided = twins.with_alias("Ana_Alba_9", "1004")
    write_roster(tmp_path / "roster.csv", decided)
    again = read_roster(tmp_path / "roster.csv")
    assert again == decided and [s.id for s in again.whose("ana_alba_9")] == ["1004"]
    moved = again.with_alias("Ana_Alba_9", "1001")
    assert [s.id for s in moved.whose("Ana_Alba_9")] == ["1001"]
    # A new import of the platform's file forgets no decision.
    kept = with_decisions(twins, moved)
    assert [s.id for s in kept.whose("Ana_Alba_9")] == ["1001"]


def test_what_names_somebody_by_itself_is_nobody_elses():
    with pytest.raises(GraderError, match="is the id or the address of 1002"):
        ROSTER.with_alias("ben@uni.edu", "1001")
    with pytest.raises(GraderError, match="Nobody on the roster has the id '9'"):
        ROSTER.with_alias("zoe", "9")


names = st.text("abcxyzÄé李 ,;\"'", max_size=8)
people = st.builds(
    Student, names.map(lambda n: f"i{n}".strip()), names.map(str.strip), st.just(""), st.just("")
)


@given(st.lists(people, min_size=1, max_size=5))
def test_a_written_roster_reads_back(tmp_path_factory, students):
    path = tmp_path_factory.mktemp("roster") / "roster.csv"
    roster = Roster(tuple(students))
    try:
        checked(roster, path)
    except GraderError:
        return
    write_roster(path, roster)
    assert read_roster(path) == roster


@given(st.permutations(["Ana", "Maria", "de", "Alba"]))
def test_the_words_of_a_name_may_go_round(words):
    """Platforms put the last name first; a name in a wholly other order is not taken."""
    roster = Roster((Student("1", "Ana Maria de Alba"),))
    order = ["Ana", "Maria", "de", "Alba"]
    rounds = [order[n:] + order[:n] for n in range(4)]
    assert bool(roster.whose("".join(words).lower())) == (words in rounds)


@pytest.mark.parametrize(
    ("name", "text"), [("c.csv", CANVAS), ("m.csv", MOODLE), ("g.csv", GRADESCOPE)]
)
def test_each_platforms_export_becomes_a_roster(tmp_path, name, text):
    roster = exported(tmp_path, name, text).roster
    assert [student.name for student in roster] == ["Ana Alba", "Ben Böhm"]
    assert [student.email for student in roster] == ["ana@uni.edu", "ben@uni.edu"]
    if name != "m.csv":
        assert [(s.id, s.section) for s in roster] == [("1001", "B"), ("1002", "A")]
    if name != "g.csv":  # the number in the names of files and folders
        assert [s.name for s in roster.whose("somebody_13")] == ["Ben Böhm"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_with_other_separators_are_read(tmp_path, separator):
    text = GRADESCOPE.replace(",", separator)
    assert len(exported(tmp_path, "g.csv", text).roster) == 2


def test_times_are_read_where_the_platform_has_them(tmp_path):
    moodle = exported(tmp_path, "m.csv", MOODLE)
    assert times_csv(moodle).splitlines()[1:] == ["Ana_Alba_12,ana@uni.edu,2026-10-05T23:59:00"]
    gradescope = exported(tmp_path, "m.yml", METADATA)
    assert times_csv(gradescope).splitlines()[1:] == [
        "submission_501,1001,2026-10-05T21:59:00.123456+00:00",
        "submission_502,1002,2026-10-06T08:00:00-07:00",
    ]
    assert [s.id for s in gradescope.roster] == ["1001", "1002", "1003"]
    assert [s.id for s in gradescope.roster.whose("submission_502")] == ["1002"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n1,Ana\n2,Ben\n1,Cy\n", "1 and 1 both have the id '1' (lines 2 and 4)"),
        ("id,email\n1,a@x\n2,A@x\n", "1 and 2 both have the address 'A@x' (lines 2 and 3)"),
        ("id,aliases\n1,x;y\n2,y\n", "1 and 2 both have the alias 'y'"),
        ("id,name\n,Ana\n", "line 2: the id is missing"),
        ("id,name\n", "nobody is on the roster"),
        ("name,email\nAna,a@x\n", "expected the columns id, name"),
    ],
)
def test_a_wrong_roster_is_told_with_its_lines(tmp_path, text, words):
    path = tmp_path / "roster.csv"
    path.write_text(text)
    with pytest.raises(GraderError) as caught:
        read_roster(path)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "time,place\n1,2\n", "is no roster: its first line names time, place"),
        ("x.csv", "", "is no roster"),
        ("x.yml", "a: b\n", "names no submission with submitters"),
        ("x.csv", "SID,Name,Email\n,Jane Doe,\n2,Bob,b@x\n", "Jane Doe has no id"),
        ("x.csv", GRADESCOPE + "Eve,E,1001,eve@uni.edu,Student,A\n", "both have the id '1001'"),
    ],
)
def test_what_is_no_export_is_told(tmp_path, name, text, words):
    with pytest.raises(GraderError) as caught:
        exported(tmp_path, name, text)
    assert words in str(caught.value)


def test_ids_of_one_roster_name_one_person_each():
    for student, other in itertools.permutations(ROSTER, 2):
        assert not student.keys & other.keys


# ------------------------------------------------------------------------------------ in a class


def class_of(folder, *names: str, roster: Roster | None = ROSTER):
    """Scores of records with these ids: 1 point for the first, 2 for the second, …"""
    tests = [make_test(1, "1.1", f"t{n}", f"t{n}", "public") for n in range(len(names))]
    for n, name in enumerate(names):
        gone = {"state": "failed", "points": 0.0}
        own = [test if i <= n else test.model_copy(update=gone) for i, test in enumerate(tests)]
        write_record(folder, make_record(name, own))
    if roster is not None:
        write_roster(folder / "roster.csv", roster)
    return score_class(folder, Policy.load())


def test_a_class_with_a_roster_has_a_row_for_everybody_and_names(tmp_path):
    scores = class_of(tmp_path, "albaana_12", "ben@uni.edu")
    rows = [(s.student, s.name, s.section, s.state, s.submission) for s in scores]
    assert rows == [
        ("1001", "Ana Alba", "B", "graded", "albaana_12"),
        ("1002", "Ben Böhm", "A", "graded", "ben@uni.edu"),
        ("1003", "李 小明", "A", "missing", ""),
    ]
    assert scores[2].final == 0.0 and scores[2].max_points == scores[0].max_points
    assert scores[2].notes == ("nothing was handed in",) and scores.problems == ()


def test_two_submissions_of_one_person_are_attempts(tmp_path):
    scores = class_of(tmp_path, "albaana_12", "B_1001")
    [ana] = [score for score in scores if score.student == "1001"]
    assert ana.submission == "B_1001" and set(ana.attempts) == {"albaana_12", "B_1001"}


def test_whose_is_unknown_is_told_and_scored_by_itself(tmp_path):
    scores = class_of(tmp_path, "albaana_12", "zoe")
    assert {"zoe", "1001", "1002", "1003"} == {score.student for score in scores}
    [told] = scores.problems
    assert told.startswith("Results of nobody in roster.csv: zoe. Say whose with")


def test_another_courses_roster_misses_nobody(tmp_path):
    scores = class_of(tmp_path, "zoe", "yan")
    assert [score.student for score in scores] == ["yan", "zoe"]
    [told] = scores.problems
    assert "None of these 2 results is of anybody in roster.csv: is it another course's?" in told


def test_without_a_roster_nothing_changes(tmp_path):
    scores = class_of(tmp_path, "albaana_12", "zoe", roster=None)
    assert [(s.student, s.name) for s in scores] == [("albaana_12", ""), ("zoe", "")]


# ------------------------------------------------------------------------------- handed in again


def handed_in_again(folder, earlier: int, later: int, **fields):
    """Of 3 points, `earlier` with one work and `later` with another, graded under the same id."""
    for n, (points, work) in enumerate(((earlier, "a"), (later, "b"))):
        tests = [
            make_test(
                4, "4.3", f"t{i}", f"t{i}", "public", state="passed" if i < points else "failed"
            )
            for i in range(3)
        ]
        more = fields if n == 0 else {}
        replace_record(folder, make_record("ana", tests, submission_hash=work * 16, **more))


@pytest.mark.parametrize(("earlier", "later", "best"), [(3, 1, 3.0), (1, 2, 2.0)])
def test_work_handed_in_again_is_an_attempt_where_the_policy_says_so(
    tmp_path, earlier, later, best
):
    handed_in_again(tmp_path, earlier, later)
    [replaced] = score_class(tmp_path, Policy.load())
    assert replaced.final == later and replaced.earlier == ""
    policy = Policy.load().model_copy(update={"resubmissions": "attempt"})
    [kept] = score_class(tmp_path, policy)
    assert kept.final == best and bool(kept.earlier) == (earlier > later)
    assert "best of 2 attempts: ana" in kept.notes[0]
    record, _ = record_of(tmp_path, kept)
    assert record.total == best  # pages and exports show the record that counts


def test_a_regrade_of_the_same_work_or_by_other_tests_is_no_attempt(tmp_path):
    policy = Policy.load().model_copy(update={"resubmissions": "attempt"})
    handed_in_again(tmp_path, 3, 1, suite_hash="9" * 16)
    [other_suite] = score_class(tmp_path, policy)
    assert other_suite.final == 1.0


# ---- A semester as one story: every layout of the platforms, and each total worked out by hand

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

    def grading(out, course, secret, sandbox, regrade, real_model, part12) -> Grading:
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
        hashed = reason_hash(verdict.reason)
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

    assert "Given11 Family11 (P11)" in run("run", "--only", "P11", "--accept-names", "--regrade")
    assert "Given2 Family2" in run("show", "A_P02")

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
