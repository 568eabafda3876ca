"""What people decide, what students get back, what a class is like; the guide's commands on it."""

import csv
import email
import fcntl
import io
import json
import multiprocessing
import re
import shlex
import zipfile
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from email import policy as email_policy
from pathlib import Path

import numpy as np
import pytest
from report_support import class_records, make_record, make_test
from test_policy import a_test
from typer.testing import CliRunner

from grader.authoring.in_words import question_named, questions
from grader.base.errors import GraderError
from grader.base.words import speak
from grader.cli import main
from grader.grades.class_scores import score_class
from grader.grades.lateness import Late
from grader.grades.policy_file import Policy
from grader.grades.statistics import Summary, class_statistics, point_biserial
from grader.intake.answers import answers_of
from grader.intake.course import Course
from grader.intake.submissions import find_submissions
from grader.integrations.export.csv_file import to_csv
from grader.integrations.export.gradescope import results_json
from grader.reports.pages.site import build_report
from grader.reports.pages.student import student_page
from grader.results.history import replace_record
from grader.results.marks import FILE, add_marks, merge_marks, new_mark, read_marks
from grader.results.record import write_record

ROOT = Path(__file__).resolve().parents[1]
WORKSHEET = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade",'
    '"Last modified (grade)"\r\n'
    'Participant 12,"Ana A, jr",a@x.y,"Submitted for grading",,{most},-\r\n'
    'Participant 99,"Zoe Z",z@x.y,"No submission",,{most},-\r\n'
)
# 20 of 30 points, and 5 of 10.
TESTS = [a_test(1, 20, 30), a_test(4, 5, 10)]


@pytest.fixture(autouse=True)
def english_again():
    yield
    speak(None)


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    for student in ("ana", "bob"):
        write_record(folder, make_record(student, TESTS))
    return folder


def grader(*words: str, rc: int = 0, typed: str = "") -> str:
    done = CliRunner().invoke(main.app, [*words], input=typed)
    assert done.exit_code == rc, done.output
    return done.output


def grade(results: Path, student: str = "ana", policy: Policy | None = None):
    return next(one for one in score_class(results, policy or Policy()) if one.student == student)


def give(results: Path, *marks) -> None:
    add_marks(results, lambda _: marks)


# --------------------------------------------------------------------------------- adjustments


def test_points_count_after_everything_else_and_outlive_a_regrade(results):
    said = grader(
        "adjust", "ana", "--points", "-3", "--part", "4", "--reason", "copied", "--by", "kim"
    )
    assert "ana, -3 points, part 4: copied (grade 25 → 22)" in said
    replace_record(results, make_record("ana", [a_test(1, 30, 30), a_test(4, 5, 10)]))
    scored = grade(results)
    assert (scored.raw, scored.adjusted, scored.final) == (35, -3, 32)
    assert [part.points for part in scored.parts] == [30, 5]  # what the tests gave stays visible
    (decided,) = scored.judged
    assert (decided.by, decided.part, decided.text) == ("kim", 4, "copied")
    assert grade(results, "bob").judged == ()


@pytest.mark.parametrize("given, final", [((-3, -30), 0), ((10, 10), 45), ((0.125, 0), 25.13)])
def test_grades_end_at_zero_and_not_at_the_maximum(results, given, final):
    give(results, *(new_mark("ana", "points", points=points, text="x") for points in given))
    assert grade(results).final == final


def test_an_override_is_the_grade_even_where_the_grader_failed(results):
    write_record(results, make_record("bob", state="error", reason="killed"))
    give(results, new_mark("ana", "points", points=-3, text="x"))
    for student in ("ana", "bob"):
        grader("adjust", student, "--override", "31.5", "--reason", "oral exam")
        assert grade(results, student).final == grade(results, student).override == 31.5
    (row,) = [
        row for row in to_csv(score_class(results, Policy())).splitlines() if row[:3] == "bob"
    ]
    assert ",31.5," in row and "31.5 override, by " in row


def test_a_withdrawn_mark_stays_in_the_log_and_counts_no_more(results):
    grader("adjust", "ana", "--points", "-3", "--reason", "copied")
    (mark,) = read_marks(results)
    said = grader("adjust", "ana", "--withdraw", mark.id, "--reason", "my mistake")
    assert f"{mark.id} withdrawn: my mistake (grade 22 → 25)" in said
    assert grade(results).final == 25 and len(read_marks(results)) == 2
    assert "copied" in grader("adjust", "ana") and "; withdrawn" in grader("adjust", "ana")
    said = grader("adjust", "ana", "--withdraw", mark.id, "--reason", "again", rc=2)
    assert "is no mark of ana that counts. Those that do: none." in said


def test_an_appeal_is_open_until_it_is_settled_with_the_grade_before_and_after(results):
    grader("adjust", "ana", "--appeal", "my mask is right")
    (appeal,) = read_marks(results)
    assert appeal.before == appeal.after == 25
    assert any(
        f"the appeal {appeal.id}" in problem for problem in score_class(results, Policy()).problems
    )
    assert "; open" in grader("adjust", "ana")
    grader("adjust", "ana", "--points", "4", "--part", "4", "--settle", "--reason", "it is")
    settled = read_marks(results)[-1]
    assert (settled.settles, settled.before, settled.after) == (appeal.id, 25, 29)
    assert score_class(results, Policy()).problems == ()
    assert "; open" not in grader("adjust")
    said = grader("adjust", "ana", "--settle", "--reason", "no", rc=2)
    assert "ana has no open appeal" in said


def test_an_appeal_may_be_settled_with_the_grade_as_it_is(results):
    grader("adjust", "ana", "--appeal", "why?")
    grader("adjust", "ana", "--settle", "--reason", "see part 4 of the handout")
    assert grade(results).final == 25 and not read_marks(results).open_appeals()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("nobody", "--points", "1", "--reason", "x"), "There is no result of 'nobody' in"),
        (("ana", "--points", "1"), "Say why with --reason"),
        (("ana", "--points", "1", "--override", "2", "--reason", "x"), "are two decisions"),
        (("ana", "--points", "1", "--part", "99", "--reason", "x"), "--part 99"),
        (("ana", "--comment", "x", "--settle"), "--settle goes with"),
        (("--points", "1", "--reason", "x"), "Whose grade?"),
    ],
)
def test_what_cannot_be_decided_is_said_and_nothing_is_written(results, words, sentence):
    assert sentence in grader("adjust", *words, rc=2)
    assert len(read_marks(results)) == 0


def test_attempts_of_one_student_share_the_marks(results):
    Path("times.csv").write_text(
        "submission,student,submitted_at\nana,ana,2026-10-01\nbob,ana,2026-10-02\n"
    )
    give(
        results,
        new_mark("bob", "points", points=2, text="x"),
        new_mark("ana", "points", points=1, text="y"),
    )
    policy = Policy(late=Late(time_zone="UTC"))
    (scored,) = score_class(results, policy, Path("times.csv"))
    assert (scored.student, scored.adjusted, scored.final) == ("ana", 3, 28)


def test_marks_of_somebody_without_a_result_are_told(results):
    give(results, new_mark("zoe", "points", points=2, text="x"))
    assert score_class(results, Policy()).problems == (
        "zoe: marked by a person, but without a result.",
    )


# ------------------------------------------------------------------------------------- the log


def _add(folder: Path, who: str) -> None:
    for _ in range(25):  # each decides by what is there, which nobody may change meanwhile
        add_marks(folder, lambda there: [new_mark("ana", "points", who, points=len(there))])


def test_people_who_write_at_once_lose_nothing(results):
    names = ["kim", "lee", "max"]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        list(pool.map(_add, [results] * 3, names))
    found = read_marks(results)
    assert found.problems == () and [mark.points for mark in found] == list(range(75))
    assert all([mark.by for mark in found].count(who) == 25 for who in names)


def test_who_has_to_wait_too_long_is_told(results, monkeypatch):
    monkeypatch.setattr("grader.results.marks.PATIENCE_S", 0.0)
    give(results, new_mark("ana", "points", points=1))
    with (results / FILE).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = grader("adjust", "ana", "--points", "1", "--reason", "x", rc=2)
    assert "Somebody else is writing to" in said and len(read_marks(results)) == 1


def test_a_line_that_a_killed_writer_left_costs_that_line_only(results):
    give(results, new_mark("ana", "points", points=1, text="x"))
    path = results / FILE
    path.write_bytes(path.read_bytes() + b'{"id":"12345678","at":"20')
    give(results, new_mark("ana", "points", points=2, text="y"))
    found = read_marks(results)
    assert [mark.points for mark in found] == [1, 2]
    assert found.problems == (
        f"{FILE}, line 2 is no mark and does not count; it stays in the file.",
    )
    assert found.problems[0] in score_class(results, Policy()).problems


def test_a_full_disk_leaves_the_log_as_it_was(results, monkeypatch):
    give(results, new_mark("ana", "points", points=1, text="x"))
    before = (results / FILE).read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("grader.results.marks.os.fsync", full)
    with pytest.raises(GraderError, match="nothing was changed"):
        give(results, new_mark("ana", "points", points=2, text="y"))
    assert (results / FILE).read_bytes() == before


def test_a_link_in_the_place_of_the_log_is_not_followed(results):
    (results / FILE).symlink_to(results / "ana.json")
    with pytest.raises(GraderError, match="cannot be read"):
        read_marks(results)


def test_two_tas_marks_are_merged_and_conflicts_told(results, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    shared = new_mark("ana", "answer", "kim", question="why-two-matrices", points=3)
    give(results, shared)
    give(other, shared, new_mark("ana", "answer", "lee", question="why-two-matrices", points=1))
    n, conflicts = merge_marks([other], results)
    assert n == 1 and len(read_marks(results)) == 2
    assert conflicts == [
        "ana, why-two-matrices: marked differently (kim: 3; lee: 1); the last counts."
    ]
    assert merge_marks([other], results)[0] == 0


# ----------------------------------------------------------------------------- written answers


def test_written_answers_count_once_one_is_marked(results):
    give(results, new_mark("ana", "answer", question="rope-is-relative", points=3.5, text="n?"))
    scored = grade(results)
    assert (scored.raw, scored.max_points, scored.final) == (28.5, 70, 28.5)
    assert scored.written.points == 3.5 and scored.written.max_points == 30
    assert "written answers not marked: 8" in scored.notes
    assert grade(results, "bob").final == 25
    assert score_class(results, Policy()).problems == (
        "Students without a marked written answer: 1 (bob).",
    )
    without = grade(results, policy=Policy(written=False))
    assert (without.written, without.final, without.max_points) == (None, 25, 40)


def test_a_total_scales_written_answers_too(results):
    give(results, new_mark("ana", "answer", question="rope-is-relative", points=4))
    scored = grade(results, policy=Policy(total=140))  # 29 of 70
    assert (scored.final, scored.max_points, scored.written.points) == (58, 140, 8)


def test_a_late_penalty_takes_of_written_answers_too(results):
    give(results, new_mark("ana", "answer", question="rope-is-relative", points=4))
    policy = Policy(late=Late(due=datetime(2026, 10, 5, tzinfo=UTC), percent_per_day=10.0))
    Path("times.csv").write_text("student,submitted_at\nana,2026-10-05T12:00:00+00:00\n")
    scored = next(iter(score_class(results, policy, Path("times.csv"))))
    assert (scored.penalty, scored.final) == (2.9, 26.1)


ANSWERS = """# My answers, by hand
## 1
q and k make the weights.

```python
# 2 is no heading here
```
## 4. RoPE
It is relative.
### why-two-matrices
One would be symmetric.
## 9
"""


def hand_in(folder: Path, name: str, text: str = ANSWERS) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "attention.py").write_text("pass\n")
    (place / "answers.md").write_text(text)
    return place


def answers_in(path: Path) -> dict[str, str]:
    (found,) = find_submissions([path], Course.load())
    return answers_of(found)


def test_answers_are_read_from_a_folder_an_archive_and_cells(tmp_path):
    folder = hand_in(tmp_path, "ana")
    found = answers_in(folder)
    assert set(found) == {"roles-of-q-k-v", "rope-is-relative", "why-two-matrices"}
    assert "# 2 is no heading here" in found["roles-of-q-k-v"]
    assert found["rope-is-relative"] == "It is relative."
    with zipfile.ZipFile(tmp_path / "bob.zip", "w") as archive:
        archive.writestr("hw/attention.py", "pass\n")
        archive.writestr("hw/Answers.md", ANSWERS)
    assert answers_in(tmp_path / "bob.zip") == found
    cell = {"cell_type": "markdown", "source": ["It ", "is."], "metadata": {}}
    cell["metadata"] = {"nbgrader": {"grade_id": "rope-is-relative"}}
    plain = {"cell_type": "markdown", "source": "## 9\nlabels", "metadata": {}}
    notebook = {"nbformat": 4, "cells": [cell, plain, "no cell", {"cell_type": "markdown"}]}
    (tmp_path / "cyd.ipynb").write_text(json.dumps(notebook))
    found = answers_in(tmp_path / "cyd.ipynb")
    assert found == {"rope-is-relative": "It is.", "labels-and-contents": "labels"}


def test_answers_are_not_read_through_links(tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("## 1\nthe instructor's own\n")
    folder = hand_in(tmp_path, "ana")
    (folder / "answers.md").unlink()
    (folder / "answers.md").symlink_to(secret)
    assert answers_in(folder) == {}
    (tmp_path / "elsewhere").mkdir()
    secret.rename(tmp_path / "elsewhere" / "answers.md")
    (tmp_path / "class").mkdir()
    hand_in(tmp_path / "class", "bob")
    (tmp_path / "class" / "eve").symlink_to(tmp_path / "elsewhere")
    found = find_submissions([tmp_path / "class"], Course.load())
    assert {one.student: len(answers_of(one)) for one in found} == {"bob": 3, "eve": 0}


def test_answers_lie_beside_what_a_platform_took_apart(tmp_path):
    """Canvas renames each file, Moodle and people put them into a folder of the student's."""
    files = {
        "doejane_12_34_attention.py": "pass\n",
        "doejane_12_35_answers-1.md": "## 1\njane",
        "roejim_13_36_attention.py": "pass\n",
        "Max M_14_assignsubmission_file_/hw.ipynb": json.dumps({"nbformat": 4, "cells": []}),
        "Max M_14_assignsubmission_file_/answers.txt": "## 2\nmax",
    }
    for name, text in files.items():
        (tmp_path / "class" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "class" / name).write_text(text)
    found = find_submissions([tmp_path / "class"], Course.load())
    assert {one.student: answers_of(one) for one in found} == {
        "doejane_12": {"roles-of-q-k-v": "jane"},
        "roejim_13": {},
        "Max_M_14": {"why-two-matrices": "max"},
    }


def test_a_walk_asks_for_each_answer_and_keeps_every_mark_at_once(results):
    hand_in(Path("class"), "ana")
    hand_in(Path("class"), "bob", "## 4\n\x1b[2J[red]cheat[/red]\n")
    hand_in(Path("class"), "new", "## 4\nx\n")
    typed = "2 say of what is summed\n7\n3\n\nq\n"
    said = grader("mark", "class", "--by", "kim", typed=typed)
    assert "Without a result in results/, so left out (1): new." in said
    assert "\x1b" not in said and "[red]cheat[/red]" in said
    assert "A number from 0 to 3, then a comment." in said and "2 marked, 2 left." in said
    marks = read_marks(results)
    assert [(mark.question, mark.points, mark.text) for mark in marks] == [
        ("roles-of-q-k-v", 2, "say of what is summed"),
        ("why-two-matrices", 3, ""),
    ]
    said = grader("mark", "class", typed="4\n3\n")
    assert "(1 of 2)" in said and len(read_marks(results)) == 4
    assert "Every answer is marked" in grader("mark", "class")
    (Path("class") / "ana" / "answers.md").write_text("## 4\nNow with a proof.\n")
    said = grader("mark", "class", typed="q\n")
    assert "; the answer has changed" in said and "(1 of 1)" in said


def test_a_sheet_is_written_filled_in_and_read(results):
    hand_in(Path("class"), "ana")
    grader("mark", "class", "--sheet", "sheet.csv", "--question", "4")
    sheet = Path("sheet.csv").read_text(encoding="utf-8-sig")
    assert sheet.splitlines()[1].startswith("ana,rope-is-relative,,,It is relative.,")
    Path("sheet.csv").write_text(sheet.replace("relative,,,", "relative,4,well done,"))
    assert "1 answer marked." in grader("mark", "--csv", "sheet.csv", "--by", "kim")
    assert "0 answers marked." in grader("mark", "--csv", "sheet.csv")
    assert grade(results).written.points == 4
    assert "Every answer is marked" in grader("mark", "class", "--question", "4")


@pytest.mark.parametrize(
    "row, sentence",
    [
        ("zoe,1,2", "line 3: there is no result of 'zoe'. Nothing was marked"),
        ("bob,10,2", "line 3: there is no question '10'"),
        ("bob,1,3.5", "points are '3.5', expected a number from 0 to 3"),
        ("bob,1,nan", "points are 'nan'"),
        ("ana,roles-of-q-k-v,1", "stands there twice"),
    ],
)
def test_a_file_with_one_wrong_row_marks_nobody(results, row, sentence):
    Path("m.csv").write_text(f"student,question,points\nana,1,2\n{row}\n")
    assert sentence in grader("mark", "--csv", "m.csv", rc=2).replace("\n", " ")
    assert len(read_marks(results)) == 0


def test_the_rubrics_give_all_points_and_numbers_are_the_companions():
    assert sum(question.points for question in questions()) == 30
    assert question_named("4").id == "rope-is-relative" and question_named("10") is None
    companion = Path(__file__).parents[1] / "assignment" / "COMPANION.md"
    numbers = re.findall(r"^(\d)\. \*\*\(", companion.read_text(encoding="utf-8"), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 10)]


# ----------------------------------------------------------------------------- where it is seen


def test_pages_tables_and_exports_show_what_was_decided(results):
    give(
        results,
        new_mark("ana", "points", "kim", points=-3, part=4, text="<b>copied</b>"),
        new_mark("ana", "comment", "kim", text="Nice tests."),
        new_mark("ana", "answer", "kim", question="rope-is-relative", points=3, text="and n?"),
    )
    scored, record = grade(results), make_record("ana", TESTS)
    page = student_page(record, scored, Policy())
    assert "part 4: -3 points" in page and "&lt;b&gt;copied&lt;/b&gt;" in page
    assert "3 of 4" in page and "and n?" in page and "Nice tests." in page
    assert "kim" not in page  # who decided is for instructors
    build_report(results, Path("report"), Policy())
    assert "(kim, " in Path("report/index.html").read_text()
    assert "(kim, " in grader("scores") and "by people" in grader("scores")
    assert ", -3 by people" in grader("show", "ana")
    sent = results_json(record, scored, Policy())
    assert sent["score"] == 25 and sent["extra_data"]["adjusted"] == -3
    assert "part 4: -3 points" in sent["output"] and "kim" not in json.dumps(sent)
    answers = {test["name"]: test["score"] for test in sent["tests"] if "written" in test["tags"]}
    assert answers["written answer: rope-is-relative"] == 3 and len(answers) == 9
    grader("export", "--to", "json")
    row = json.loads(Path("scores.json").read_text())["scores"][0]
    assert row["judged"][0]["by"] == "kim" and row["written"]["points"] == 3


def test_a_student_reads_it_in_chinese(results):
    give(results, new_mark("ana", "points", "kim", points=-3, part=4, text="抄袭"))
    speak("zh")
    page = student_page(make_record("ana", TESTS), grade(results), Policy())
    assert "老师的决定" in page and "第 4 部分：-3 分" in page


# ------------------------------------------------------------------------------------ feedback


@pytest.fixture
def by_platform(tmp_path, monkeypatch):
    """Ana and Bo by Canvas and Moodle's names; Cy's grading failed."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    ana = make_record("Ana_A_12", TESTS, source="anaa_LATE_12_345_hw-1.zip")
    bo = make_record("bo", TESTS, source="bo.zip")
    for record in (ana, bo, make_record("cy", state="error", reason="killed")):
        write_record(folder, record)
    return folder


def files_in(archive: str) -> dict[str, str]:
    with zipfile.ZipFile(archive) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_canvas_finds_the_submission_by_the_files_name(by_platform):
    said = grader("feedback", "--to", "canvas")
    assert "Not named as Canvas names files, and so left out (1): bo." in said
    assert "Without a graded submission and so without feedback (1): cy." in said
    ((name, page),) = files_in("feedback/canvas-comments.zip").items()
    assert name == "anaa_12_345_feedback.html" and "Ana_A_12" in page


def test_canvas_names_are_needed(by_platform):
    write_record(by_platform, make_record("Ana_A_12", TESTS))
    assert "No submission is named as Canvas" in grader("feedback", "--to", "canvas", rc=2)


def test_moodle_gets_pages_and_its_worksheet_filled_in(by_platform):
    Path("w.csv").write_bytes(WORKSHEET.format(most="40.00").encode())
    said = grader("feedback", str(by_platform), "--to", "moodle", "--sheet", "w.csv")
    assert "Without a participant's number in their id, and so left out (1): bo." in said
    assert "In the worksheet only, left as they are (1): Participant 99." in said
    # Moodle reads the number behind the first underscore and the plugin behind it.
    assert list(files_in("feedback/moodle-feedback.zip")) == [
        "Ana A_12_assignsubmission_file_/feedback.html"
    ]
    filled = Path("feedback/w.csv").read_bytes().decode("utf-8-sig")
    assert filled == WORKSHEET.format(most="40.00").replace('grading",,', 'grading",25,')


@pytest.mark.parametrize(
    "sheet, sentence",
    [
        (WORKSHEET.format(most="20.00"), "Set `total = 20` in the policy"),
        (WORKSHEET.replace("Grade,", "Points,").format(most="40"), "has no column 'Grade'"),
        (WORKSHEET.replace("Participant 12", "Participant 13").format(most="40"), "No participant"),
    ],
)
def test_a_wrong_worksheet_writes_nothing(by_platform, sheet, sentence):
    Path("w.csv").write_bytes(sheet.encode())
    said = grader("feedback", "--to", "moodle", "--sheet", "w.csv", rc=2)
    assert sentence in said and not list(Path("feedback").glob("[!.]*"))


def test_letters_and_a_manifest_for_a_mail_merge(by_platform):
    Path("results/roster.csv").write_text(
        "id,name,email\nAna_A_12,Ana Ä,ana@x.y\nbo,,\n", encoding="utf-8"
    )
    said = grader("feedback", "--to", "mail", "--from", "ta@x.y")
    assert "Without an e-mail address, so their letter has none (1): bo." in said
    with Path("feedback/manifest.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["email"], row["page"]) for row in rows] == [
        ("Ana_A_12", "ana@x.y", "pages/Ana_A_12.html"),
        ("bo", "", "pages/bo.html"),
    ]
    letter = email.message_from_bytes(
        Path("feedback/mail/Ana_A_12.eml").read_bytes(), policy=email_policy.default
    )
    assert (letter["To"], letter["From"], letter["X-Unsent"]) == ("ana@x.y", "ta@x.y", "1")
    assert "you have 25 of 40 points" in letter.get_body().get_content()
    (page,) = letter.iter_attachments()
    assert page.get_filename() == "Ana_A_12.html"
    assert page.get_content() == Path("feedback/pages/Ana_A_12.html").read_text()


def test_who_is_gone_gets_no_letter_the_next_time(by_platform):
    grader("feedback", "--to", "mail")
    (by_platform / "bo.json").unlink()
    grader("feedback", "--to", "mail")
    assert [path.name for path in Path("feedback/mail").iterdir()] == ["Ana_A_12.eml"]


def test_gradescope_gets_results_and_the_page(by_platform):
    grader("feedback", "--to", "gradescope")
    place = Path("feedback/gradescope/bo")
    assert json.loads((place / "results.json").read_text())["score"] == 25
    assert "bo" in (place / "bo.html").read_text()


@pytest.mark.parametrize("folder", ["results", "full"])
def test_feedback_is_written_into_no_folder_of_others(by_platform, folder):
    Path("full").mkdir()
    Path("full/mine.txt").write_text("x")
    assert "no earlier feedback" in grader("feedback", "--to", "mail", "--out", folder, rc=2)


def test_results_of_two_suites_are_told_by_feedback_and_statistics(by_platform):
    write_record(by_platform, make_record("dan", TESTS, suite_hash="2" * 16, suite_version="2"))
    for command in (("feedback", "--to", "mail"), ("statistics",)):
        assert "this class is mixed" in grader(*command).replace("\n", " ")


def test_feedback_speaks_chinese(by_platform):
    said = grader("feedback", "--to", "mail", "--lang", "zh")
    assert "没有已评的提交，因此没有反馈（1）：cy。" in said


# ---------------------------------------------------------------------------------- statistics


def test_a_summary_is_worked_out_by_hand():
    of = Summary.of([2, 4, 4, 4, 5, 5, 7, 9])  # squared deviations from 5 sum to 32
    assert (of.n, of.mean, of.low, of.high) == (8, 5, 2, 9)
    assert of.deviation == pytest.approx((32 / 7) ** 0.5)
    assert of.quartiles == (4, 4.5, 5.5)
    assert Summary.of([3]).quartiles == (3, 3, 3) and Summary.of([3]).deviation is None
    assert Summary.of([]) == Summary(0)


def test_quartiles_and_deviation_are_numpys():
    values = list(np.random.default_rng(0).normal(50, 20, 31))
    of = Summary.of(values)
    assert of.quartiles == pytest.approx(tuple(np.percentile(values, [25, 50, 75])))
    assert (of.mean, of.deviation) == pytest.approx((np.mean(values), np.std(values, ddof=1)))


def test_the_point_biserial_correlation_is_its_formula():
    passed = [True, True, True, False, False]
    points = [9.0, 8.0, 7.0, 4.0, 2.0]
    # (mean of those who passed - mean of the others) / deviation * sqrt(p q): 8, 3, sqrt(6.8)
    assert point_biserial(passed, points) == pytest.approx((8 - 3) / 6.8**0.5 * (0.6 * 0.4) ** 0.5)
    assert point_biserial([True] * 5, points) is None
    assert point_biserial(passed, [1.0] * 5) is None


def test_statistics_of_a_class_are_those_of_its_records(tmp_path):
    records = list(class_records(24, seed=5))
    for record in records:
        write_record(tmp_path, record)
    found = class_statistics(tmp_path, Policy())
    graded = [record for record in records if record.state != "error"]
    assert found.n_without_grade == len(records) - len(graded) > 0
    totals = [record.total for record in graded]
    assert found.grades.mean == pytest.approx(np.mean(totals))
    in_part_4 = [100 * (p.public + p.hidden) / (p.public_max + p.hidden_max)
                 for record in graded for p in record.parts if p.part == 4]  # fmt: skip
    assert found.parts[4].quartiles == pytest.approx(tuple(np.percentile(in_part_4, [25, 50, 75])))
    told = 0
    for number, test in enumerate(graded[0].tests):
        passed = [record.tests[number].state == "passed" for record in graded]
        rest = [record.total - record.tests[number].points for record in graded]
        of_test = next(one for one in found.tests if one.id == test.id)
        assert (of_test.n, of_test.n_passed) == (len(graded), sum(passed))
        if 0 < sum(passed) < len(passed):
            told += 1
            expected = np.corrcoef(passed, rest)[0, 1]
            assert of_test.discrimination == pytest.approx(expected, abs=1e-9)
    assert told > 100
    assert found.seconds_in_all == pytest.approx(sum(record.seconds for record in records))


def test_the_long_form_has_a_row_a_student_and_test(by_platform):
    said = grader("statistics", "results", "--csv", "long.csv")
    assert "4 rows: long.csv" in said
    rows = list(csv.DictReader(io.StringIO(Path("long.csv").read_text())))
    assert [(row["student"], row["part"], row["points"], row["passed"]) for row in rows] == [
        ("Ana_A_12", "1", "20", "0"),
        ("Ana_A_12", "4", "5", "0"),
        ("bo", "1", "20", "0"),
        ("bo", "4", "5", "0"),
    ]
    assert {row["homework"] for row in rows} == {"results"}


def test_two_years_are_compared(by_platform):
    last = Path("last")
    last.mkdir()
    for student, state in (("x", "passed"), ("y", "failed")):
        test = make_test(1, "1.1", "Rows sum to 1", "softmax", "public", state=state)
        write_record(last, make_record(student, [test]))
    tests = [make_test(1, "1.1", "Rows sum to 1", "softmax", "public")]
    for student in ("Ana_A_12", "bo"):
        write_record(by_platform, make_record(student, tests))
    said = grader("statistics", "results", "last")
    (row,) = [line for line in said.splitlines() if "Rows sum to 1" in line]
    assert row.split()[-2:] == ["100", "50"]
    (row,) = [line for line in said.splitlines() if line.startswith("P1 ")]
    assert row.split() == ["P1", "100", "50"]
    assert "区分度" in grader("statistics", "last", "--lang", "zh")


def test_nothing_is_divided_by_an_empty_class(tmp_path):
    write_record(tmp_path, make_record("cy", state="error", reason="killed"))
    assert "0 with nothing gradable" in grader("statistics", str(tmp_path))


# ------------------------------------------------------------------------------------- the guide


def commands_of_the_guide() -> list[str]:
    """The lines in its blocks of code that begin with one of these commands."""
    ours = tuple(
        f"grader {name} "
        for name in ("adjust", "mark", "merge", "roster", "statistics", "feedback")
    )
    guide = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    blocks = guide.split("```")[1::2]
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if f"{line} ".startswith(ours)]


def test_every_command_of_the_guide_works_in_its_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("results", "last-year/results", "kim/results", "lee/results"):
        Path(folder).mkdir(parents=True)
        for student in ("bug-position-zero", "half-finished", "correct-einsum"):
            write_record(Path(folder), make_record(student, [a_test(1, 100, 130), *TESTS[1:]]))
    hand_in(Path("sample-class"), "correct-einsum")
    names = ("bug-position-zero", "half-finished", "correct-einsum", "1002")
    Path("gradebook.csv").write_text("id,name\n" + "".join(f"{name},N\n" for name in names))
    write_record(Path("results"), make_record("B_bob", [a_test(1, 100, 130), *TESTS[1:]]))
    commands = commands_of_the_guide()
    assert len(commands) >= 12
    for command in commands:
        words = shlex.split(command)[1:]
        if "--csv" in words and words[0] == "mark":
            sheet = Path("answers.csv").read_text(encoding="utf-8-sig")
            Path("answers.csv").write_text(sheet.replace("relative,,", "relative,3,"))
        grader(*words, typed="3 good\n")
    scores = grader("export", "--to", "csv")
    assert "4 scores" in scores
    rows = csv.DictReader(io.StringIO(Path("scores.csv").read_text(encoding="utf-8-sig")))
    totals = {row["student"]: (row["adjusted"], row["written"], row["final"]) for row in rows}
    assert totals == {
        "bug-position-zero": ("0", "0", "105"),
        "half-finished": ("0", "0", "120"),
        "correct-einsum": ("0", "6", "111"),
        "1002": ("0", "0", "105"),  # whose B_bob is, by `grader roster match`
    }
