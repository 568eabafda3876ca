"""Exports: CSV, JSON, Canvas, Gradescope, and the command."""

import csv
import io
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from assignment.harness.parts import PARTS
from grader.base.errors import GraderError
from grader.cli import main
from grader.grades.class_scores import ClassScores
from grader.grades.lateness import Late
from grader.grades.policy import Score, score
from grader.grades.policy_file import Policy
from grader.integrations.export import raw_csv, schema
from grader.integrations.export.canvas import fill_column
from grader.integrations.export.csv_file import number_cell, text_cell, to_csv, write_csv
from grader.integrations.export.gradescope import results_json
from grader.integrations.export.json_file import ScoresDocument, write_json
from grader.results.record import (
    DiagnosisRecord,
    SubmissionResult,
    TestResult,
    make_result,
    write_record,
)
from grader.results.summary import FILE as INDEX

FEW = settings(max_examples=80, deadline=None, derandomize=True)
COLUMN = "Lecture 2 (123456)"
DUE = datetime(2026, 10, 5, 22, 0, tzinfo=UTC)
# Text as it can be in a UTF-8 file; quotes, separators and formulas more often than by chance.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12) | st.text(
    "\",;\r\n=+-@\t'aé漢", max_size=6
)


def a_score(student: str = "ana", final: float | None = 42.5, **changes) -> Score:
    fields = {"student": student, "submission": student, "state": "graded", "max_points": 60.0}
    return Score(**(fields | {"final": final, "raw": final or 0.0} | changes))


def a_record(student: str = "ana", state: str = "graded", **changes) -> SubmissionResult:
    def a_test(number: int, visibility: str, points: float, **more) -> TestResult:
        fields = {
            "id": f"test_{number}[{visibility}]",
            "part": 4,
            "section": "4.3",
            "title": f"test {number}",
            "visibility": visibility,
            "points": points,
            "max_points": 10.0,
            "state": "passed" if points == 10 else "failed",
        }
        return TestResult(**(fields | more))

    tests = [
        a_test(1, "public", 10),
        a_test(2, "public", 0, message="got <b>1</b>\n\x1b[31mred", first_bad_step=3),
        a_test(3, "hidden", 5, message="SECRET inputs", own_message="SECRET too", max_error=0.25),
    ]
    fields = {
        "student": student,
        "source": f"{student}.zip",
        "submission_hash": "h",
        "suite_hash": "s",
        "suite_version": "1",
        "state": state,
        "tests": tests,
        "output_tail": "SECRET print",
    }
    return make_result(**(fields | changes))


# Python's writer leaves a lone \r without quotes where lines end in \n, and then it is no CSV.
ways_to_write = st.sampled_from(
    [
        {"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"},
        {"quoting": csv.QUOTE_ALL, "lineterminator": "\n"},
        {"quoting": csv.QUOTE_MINIMAL, "lineterminator": "\r\n"},
    ]
)


# ----------------------------------------------------------------------------------------- cells


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\rx", "\nx", "  =cmd|' /C calc'!A0", "＝1", "=\n"],
)
def test_what_a_spreadsheet_would_compute_gets_an_apostrophe(text):
    assert text_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "Ana", "漢字", "a=b", "O'Hara", "'t Hooft", "3 - 4", " x"])
def test_other_text_stays_as_it_is(text):
    assert text_cell(text) == text


def test_numbers_have_no_exponent_and_nothing_stands_for_none():
    cells = [number_cell(n) for n in (0.0, 100.0, 12.5, 1e-5, 1e6, 0.1 + 0.2, None)]
    assert cells == ["0", "100", "12.5", "0.00001", "1000000", "0.3", ""]


# ------------------------------------------------------------------------------------------- csv


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


@FEW
@given(st.lists(texts, min_size=1, max_size=4), texts)
@example(["=cmd|' /C calc'!A0", 'a"b,c\r\nd'], "\t@x")
def test_every_name_and_note_is_one_cell_that_is_no_formula(names, note):
    rows = read_csv(to_csv([a_score(name, notes=(note,)) for name in names]))
    assert len(rows) == len(names)
    for row, name in zip(rows, names, strict=True):
        for cell, text in ((row["student"], name), (row["notes"], note)):
            assert not cell.lstrip().startswith(("=", "+", "-", "@"))
            assert not cell.startswith(("\t", "\r", "\n"))
            shown = cell.removeprefix("'") if not text.startswith("'") else cell
            # Control characters and direction overrides are shown as such, nothing else changes.
            assert len(shown) == len(text)
            assert all(a in (b, "\ufffd") for a, b in zip(shown, text, strict=True))
        assert float(row["final"]) == 42.5


def test_the_columns_are_those_of_the_documentation(tmp_path):
    from grader.integrations.export import csv_file

    policy = Policy(late=Late(due=DUE, percent_per_day=10.0))
    found = score(a_record(), policy, DUE + timedelta(hours=30))
    write_csv(ClassScores((found,)), tmp_path / "scores.csv")
    content = (tmp_path / "scores.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfstudent,") and content.endswith(b"\r\n")
    (row,) = read_csv(content.decode("utf-8-sig"))
    described = csv_file.__doc__
    assert all(f"\n  {name} " in described or name.startswith("part_4") for name in row)
    assert (row["raw"], row["penalty"], row["final"], row["max_points"]) == ("15", "3", "12", "30")
    assert (row["part_4"], row["part_4_max"], row["days_late"]) == ("15", "30", "1.25")
    assert row["submitted_at"] == "2026-10-07T04:00:00+00:00"


def test_no_grade_is_an_empty_cell_and_no_zero():
    (row,) = read_csv(to_csv([a_score(final=None, state="error", notes=("no grade: why",))]))
    assert (row["final"], row["raw"], row["penalty"], row["state"]) == ("", "", "", "error")


# ------------------------------------------------------------------------------------------ json


def test_the_json_document_reads_back_and_matches_its_schema(tmp_path):
    scores = ClassScores((score(a_record(), Policy()), a_score("bob", None)), ("a problem",))
    write_json(scores, Policy(points={4: 20.0}), tmp_path / "scores.json")
    text = (tmp_path / "scores.json").read_text(encoding="utf-8")
    read = ScoresDocument.model_validate_json(text)
    assert read.scores == scores.scores and read.problems == ("a problem",)
    assert read.policy.points == {4: 20.0}
    written = json.loads(text)
    described = json.loads((schema.FOLDER / "scores.schema.json").read_text(encoding="utf-8"))
    assert set(written) == set(described["properties"])
    assert set(written["scores"][0]) == set(described["$defs"]["Score"]["properties"])
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(written, described)
    written["scores"][0]["final"] = "42"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written, described)


@pytest.mark.parametrize("name", schema.MODELS)
def test_the_schemas_in_docs_are_current(name):
    current = schema.schema_text(schema.MODELS[name])
    there = (schema.FOLDER / name).read_text(encoding="utf-8")
    assert there == current, "run: python -m grader.integrations.export.schema"


# --------------------------------------------------------------------------------------- raw csv


@FEW
@given(st.text(st.sampled_from('",;ab\r\n ') | st.characters(exclude_categories=("Cs",))))
def test_any_text_is_its_rows_joined_again_or_is_refused(text):
    for delimiter in ",;":
        try:
            rows = raw_csv.parse(text, delimiter)
        except raw_csv.NotCsv:
            assert '"' in text
            continue
        assert raw_csv.join(rows, delimiter) == text


@FEW
@given(
    st.lists(st.lists(texts, min_size=1, max_size=4), min_size=1, max_size=4),
    ways_to_write,
)
def test_cells_are_read_as_the_standard_library_wrote_them(table, way):
    text = io.StringIO(newline="")
    csv.writer(text, **way).writerows(table)
    rows = raw_csv.parse(text.getvalue(), ",")
    assert [row.values() for row in rows] == table
    lines = [
        1 + sum(row.count("\n") + row.count("\r") - row.count("\r\n") for row in before)
        for before in ([raw_csv.join(rows[:n], ",")] for n in range(len(rows)))
    ]
    assert [row.line for row in rows] == lines


# ---------------------------------------------------------------------------------------- canvas

HEADER = f'Student,ID,SIS User ID,SIS Login ID,Section,Lecture 1 (111),"{COLUMN}",Final Score'
POINTS = "    Points Possible,,,,,10,60,(read only)"


def canvas_file(
    tmp_path: Path, *rows: str, header: str = HEADER, points: str = POINTS, bom=False
) -> Path:
    path = tmp_path / "grades.csv"
    text = "\r\n".join((header, ",,,,,,Manual Posting,", points, *rows, ""))
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
    return path


ANA = '"Lee, Ana",501,s1,ana,"A, and B",3,,30'
BOB = '"O\'Hara, =Bob",502,s2,bob@uni.edu,A,,7,'


def test_one_column_is_filled_and_every_other_byte_stays(tmp_path):
    path = canvas_file(tmp_path, ANA, BOB, '"Student, Test",503,,t,A,,,', bom=True)
    before = path.read_bytes()
    content, report = fill_column([a_score("ana"), a_score("bob_uni.edu", 9.0)], path, COLUMN)
    expected = before.replace(b',"A, and B",3,,30', b',"A, and B",3,42.5,30')
    expected = expected.replace(b"bob@uni.edu,A,,7,", b"bob@uni.edu,A,,9,")
    assert content == expected and path.read_bytes() == before
    assert report.written == 2 and report.warnings == []
    assert report.without_result == ["Student, Test (line 6)"]
    assert report.changed == ["O'Hara, =Bob (line 5) had 7, now 9"]


def test_a_cell_in_quotes_stays_in_quotes(tmp_path):
    quoted = [
        ",".join(f'"{cell}"' for cell in row.split(",")) for row in ("Lee,501,,ana,A,3,,", POINTS)
    ]
    path = canvas_file(tmp_path, quoted[0], points=quoted[1])
    content, _ = fill_column([a_score()], path, COLUMN)
    assert content == path.read_bytes().replace(b'"3","",""', b'"3","42.5",""')


@st.composite
def gradebooks(draw):
    """A Canvas file of any names, in any quoting, and which cell is whose."""
    name = texts.filter(lambda text: "Points Possible" not in text)
    students = draw(st.lists(name, min_size=1, max_size=5))
    delimiter = draw(st.sampled_from(",;"))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, **draw(ways_to_write))
    writer.writerow(["Student", "ID", "SIS Login ID", "Section", "Old (1)", COLUMN, "Final Score"])
    writer.writerow(["    Points Possible", "", "", "", "5", "60", "(read only)"])
    for number, student in enumerate(students):
        old = draw(texts)
        cell = draw(st.sampled_from(["", "EX", "3"]))
        writer.writerow([student, 900 + number, f"login{number}", draw(texts), old, cell, "1"])
    graded = draw(st.lists(st.sampled_from(range(len(students))), unique=True, min_size=1))
    return text.getvalue(), delimiter, draw(st.booleans()), graded


@FEW
@given(gradebooks(), st.floats(0, 60))
def test_any_gradebook_comes_back_with_one_column_changed(tmp_path_factory, gradebook, final):
    text, delimiter, bom, graded = gradebook
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
    content, report = fill_column([a_score(f"login{n}", final) for n in graded], path, COLUMN)
    assert content.startswith(b"\xef\xbb\xbf") == bom

    def table(text: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))

    before, after = table(text), table(content.decode("utf-8-sig"))
    excused = 0
    for number, row in enumerate(before[2:]):
        if number in graded and row[5] != "EX":
            row[5] = number_cell(final)
        excused += number in graded and row[5] == "EX"
    assert after == before
    assert report.written == len(graded) - excused and len(report.left_alone) == excused
    assert len(report.without_result) == len(before) - 2 - len(graded)


def refused(scores, path: Path, column: str = COLUMN, **options) -> str:
    before = path.read_bytes()
    with pytest.raises(GraderError) as problem:
        fill_column(scores, path, column, **options)
    assert path.read_bytes() == before
    return str(problem.value)


def test_a_column_that_is_not_there_is_never_made(tmp_path):
    path = canvas_file(tmp_path, ANA)
    for column in ("Lecture 2", "lecture 2 (123456)", "Lecture 3 (123456)", "Lecture 2 (99)"):
        sentence = refused([a_score()], path, column)
        assert f"There is no column {column!r}" in sentence and f"'{COLUMN}'" in sentence
        assert "nothing was written" in sentence
    assert "Its assignments are: 'Lecture 1 (111)'" in refused([a_score()], path, "Project")


@pytest.mark.parametrize("column", ["Final Score", "ID", "Section", "Student"])
def test_columns_that_canvas_computes_or_that_name_students_are_refused(tmp_path, column):
    assert "is no assignment's column" in refused([a_score()], canvas_file(tmp_path, ANA), column)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    header = HEADER.replace("Lecture 1 (111)", COLUMN)
    assert "2 columns" in refused([a_score()], canvas_file(tmp_path, ANA, header=header))


def test_a_file_of_another_course_or_none_of_canvas_is_refused(tmp_path):
    sentence = refused([a_score("zoe")], canvas_file(tmp_path, ANA, BOB))
    assert "None of the 1 results" in sentence and "another course" in sentence
    assert "zoe" in sentence and "Lee, Ana (line 4)" in sentence
    assert "has no student" in refused([a_score()], canvas_file(tmp_path))
    (tmp_path / "x.csv").write_text("name,points\nana,3\n")
    assert "not a gradebook exported from Canvas" in refused([a_score()], tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("")
    assert "begins with nothing" in refused([a_score()], tmp_path / "x.csv")
    (tmp_path / "x.csv").write_bytes(HEADER.encode() + b"\r\ncaf\xe9")
    assert "not UTF-8" in refused([a_score()], tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text(HEADER + '\r\n"Lee, Ana')
    assert "the quote in line 2 is never closed" in refused([a_score()], tmp_path / "x.csv")
    with pytest.raises(GraderError, match="cannot be read"):
        fill_column([a_score()], tmp_path / "no.csv", COLUMN)


def filled(scores, path: Path, **options):
    """The column's cells by login, and the report."""
    content, report = fill_column(scores, path, COLUMN, **options)
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    return {row["SIS Login ID"]: row[COLUMN] for row in rows if row["SIS Login ID"]}, report


def test_nobody_is_dropped(tmp_path):
    path = canvas_file(
        tmp_path,
        ANA,
        BOB,
        '"Excused, Eva",504,,eva,A,,ex,',
        '"Absent, Abe",505,,abe,A,,N/A,',
        '"Failed, Fay",506,,fay,A,,12,',
        '"Nothing, Ned",507,,ned,A,,8,',
    )
    scores = [
        *(a_score(name) for name in ("ana", "eva", "abe", "zoe")),
        a_score("fay", None, state="error", notes=("no grade: the grader failed",)),
    ]
    cells, report = filled(scores, path)
    unchanged = {"bob@uni.edu": "7", "eva": "ex", "abe": "N/A", "fay": "12", "ned": "8"}
    assert cells == {"ana": "42.5"} | unchanged
    assert report.without_row == ["zoe"]
    assert report.without_result == ["O'Hara, =Bob (line 5)", "Nothing, Ned (line 9)"]
    assert report.left_alone == [
        "Excused, Eva (line 6) has ex",
        "Absent, Abe (line 7) has N/A",
        "Failed, Fay (line 8): no grade: the grader failed",
    ]
    text = " ".join(report.sentences())
    assert all(name in text for name in ("zoe", "Bob", "Ned", "Eva", "Abe", "Fay"))


def test_duplicates_are_listed_and_nothing_is_written_for_them(tmp_path):
    path = canvas_file(tmp_path, ANA, BOB, '"Lee, Ana",508,,cem,A,,,', '"Twin, Cem",509,cem,x,A,,,')
    scores = [
        a_score("cem"),  # the login of one, the student number of another
        a_score("ana"),
        a_score("501", 1.0),  # Ana's Canvas ID
        a_score("bob_uni.edu", repeated=("bob_uni.edu-2",)),
    ]
    cells, report = filled(scores, path)
    assert cells == {"ana": "", "bob@uni.edu": "7", "cem": "", "x": ""}
    assert report.written == 0 and report.without_result == []
    first_words = [sentence.split(" ")[0] for sentence in report.duplicates]
    assert first_words == ["cem", "ana", "501", "bob_uni.edu"]
    assert report.duplicates[0] == "cem fits Lee, Ana (line 6), Twin, Cem (line 7)"
    assert report.duplicates[3].startswith("bob_uni.edu has the same id as bob_uni.edu-2")


def test_canvas_names_of_downloads_are_matched_by_name_and_id_together(tmp_path):
    path = canvas_file(tmp_path, ANA, '"Li, Bo",2,,boli,A,,,')
    cells, report = filled([a_score("leeana_501"), a_score("alice_2", 1.0)], path)
    assert cells == {"ana": "42.5", "boli": ""}
    assert report.without_row == ["alice_2"]  # her second try, not the student with ID 2
    cells, _ = filled([a_score("leeana_501"), a_score("alice_2", 1.0)], path, match="id")
    assert cells == {"ana": "42.5", "boli": "1"}


@pytest.mark.parametrize(
    ("match", "student"),
    [
        *(("login", "ana"), ("login", "ANA"), ("sis", "s1"), ("id", "501"), ("name", "Lee, Ana")),
        *(("name", "Ana_Lee"), ("name", "leeana"), ("name", "leeana_501")),
        *(("auto", "ana"), ("auto", "s1"), ("auto", "501")),
    ],
)
def test_ways_to_match(tmp_path, match, student):
    cells, _ = filled([a_score(student)], canvas_file(tmp_path, ANA, BOB), match=match)
    assert cells == {"ana": "42.5", "bob@uni.edu": "7"}


@pytest.mark.parametrize(
    ("match", "student"), [("login", "s1"), ("sis", "ana"), ("auto", "Lee_Ana")]
)
def test_other_columns_do_not_match(tmp_path, match, student):
    assert "None of the 1 results" in refused(
        [a_score(student)], canvas_file(tmp_path, ANA), match=match
    )


def test_first_and_last_names_in_columns_of_their_own(tmp_path):
    header = f"LastName,FirstName,ID,SIS Login ID,Section,{COLUMN}"
    rows = ("Lee,Ana,501,ana,A,", "Ray,Bob,502,bob,A,")
    path = canvas_file(tmp_path, *rows, header=header, points="    Points Possible,,,,,60")
    assert filled([a_score("Ana_Lee")], path, match="name")[0] == {"ana": "42.5", "bob": ""}
    assert filled([a_score("ana")], path)[1].without_result == ["Ray, Bob (line 5)"]


def test_other_points_possible_are_a_warning(tmp_path):
    path = canvas_file(tmp_path, ANA, points=POINTS.replace(",60,", ",100,"))
    (warning,) = filled([a_score()], path)[1].warnings
    assert "has 100 points possible" in warning and "gives 60" in warning
    path = canvas_file(tmp_path, ANA, points=POINTS.replace(",60,", ',"60,00",'))
    assert filled([a_score()], path)[1].warnings == []


# ------------------------------------------------------------------------------------ gradescope

# Gradescope's "Autograder Specifications".
TOP_FIELDS = {
    *("score", "execution_time", "output", "output_format", "visibility", "stdout_visibility"),
    *("extra_data", "tests", "leaderboard"),
}
TEST_FIELDS = {
    *("score", "max_score", "status", "name", "number", "output", "output_format", "tags"),
    "visibility",
}


def gradescope(policy: Policy, **changes) -> dict:
    record = a_record(**changes)
    return results_json(record, score(record, policy), policy)


def test_gradescope_fields_and_scaled_points():
    told = gradescope(Policy(points={4: 60.0}))
    assert set(told) <= TOP_FIELDS and all(set(test) <= TEST_FIELDS for test in told["tests"])
    assert told["score"] == 30 and told["output_format"] == "text"
    assert [(test["score"], test["max_score"]) for test in told["tests"]] == [
        (20, 20),
        (0, 20),
        (10, 20),
    ]
    assert [test["status"] for test in told["tests"]] == ["passed", "failed", "failed"]
    assert told["tests"][1]["output"] == "got <b>1</b>\n\ufffd[31mred"
    assert told["tests"][1]["output_format"] == "text"
    json.dumps(told)


@pytest.mark.parametrize(
    ("rule", "visibility"),
    [
        ({}, "after_published"),
        ({"gradescope": "after_due_date"}, "after_due_date"),
        ({"gradescope": "visible"}, "visible"),
        ({"hidden": "nothing", "gradescope": "visible"}, "hidden"),
    ],
)
def test_gradescope_shows_of_hidden_tests_what_the_policy_says_and_no_message(rule, visibility):
    told = gradescope(Policy.model_validate({"visibility": rule}))
    assert [test["visibility"] for test in told["tests"]] == ["visible", "visible", visibility]
    assert "output" not in told["tests"][2]
    assert "SECRET" not in json.dumps(told)
    # What stands above the tests is visible at once: the public points only.
    assert "public tests 10 of 20" in told["output"] and "of 30" not in told["output"]


def test_gradescope_says_the_diagnosis_and_the_lateness():
    diagnosis = DiagnosisRecord(
        part=4, bugs=(("position-zero",),), n_tests=7, error=1e-13, fact="Part 4 equals a decode …"
    )
    record = a_record(diagnoses=(diagnosis,))
    policy = Policy(late=Late(due=DUE, percent_per_day=10.0))
    told = results_json(record, score(record, policy, DUE + timedelta(days=1)), policy)
    assert told["score"] == 13.5
    assert "Part 4 equals, in 7 tests to 1e-13, a decode that rotates" in told["output"]
    assert "10 % of the score" in told["output"]


def test_gradescope_gets_no_zero_where_the_grader_failed():
    with pytest.raises(GraderError, match="the grader failed"):
        gradescope(Policy(), state="error", reason="the worker died")


# --------------------------------------------------------------------------------------- command


@pytest.fixture
def results(tmp_path, monkeypatch):
    folder = tmp_path / "results"
    folder.mkdir()
    for student in ("ana", "bob"):
        write_record(folder, a_record(student))
    write_record(folder, a_record("cem", state="error", reason="the worker died"))
    monkeypatch.chdir(tmp_path)
    return folder


def export(*arguments):
    return CliRunner().invoke(main.app, ["export", *map(str, arguments)])


def test_export_to_csv_and_json(results, tmp_path):
    assert export("--to", "csv").exit_code == 0
    rows = read_csv((tmp_path / "scores.csv").read_text(encoding="utf-8-sig"))
    assert [(row["student"], row["final"]) for row in rows] == [
        ("ana", "15"),
        ("bob", "15"),
        ("cem", ""),
    ]
    assert export("--to", "json", "--write", "x.json").exit_code == 0
    assert len(json.loads((tmp_path / "x.json").read_text())["scores"]) == 3


def test_the_policy_changes_scores_and_no_record(results, tmp_path):
    before = {path.name: path.read_bytes() for path in results.glob("*.json")}
    (tmp_path / "p.toml").write_text("[points]\n4 = 10\n")
    assert export("--to", "csv", "--policy", "p.toml").exit_code == 0
    rows = read_csv((tmp_path / "scores.csv").read_text(encoding="utf-8-sig"))
    assert [row["final"] for row in rows] == ["5", "5", ""]
    assert {path.name: path.read_bytes() for path in results.glob("*.json")} == before


def test_export_to_canvas_writes_beside_the_exported_file(results, tmp_path):
    path = canvas_file(tmp_path, ANA, points=POINTS.replace(",60,", ",30,"))
    before = path.read_bytes()
    shown = export("--to", "canvas", "--into", path, "--column", COLUMN)
    assert shown.exit_code == 0, shown.output
    written = (tmp_path / "grades-graded.csv").read_bytes()
    assert written == before.replace(b'"A, and B",3,,30', b'"A, and B",3,15,30')
    assert "Results without a row in the Canvas file (2): bob; cem." in shown.output
    assert "1 of 3 scores" in shown.output


def test_a_refused_canvas_export_writes_nothing(results, tmp_path):
    path = canvas_file(tmp_path, ANA)
    before = sorted(tmp_path.rglob("*"))
    shown = export("--to", "canvas", "--into", path, "--column", "Lecture 9 (9)")
    assert shown.exit_code == main.EXIT_USAGE and "There is no column" in shown.output
    (results / INDEX).unlink()  # what was read is kept there, see grader.results.summary
    assert sorted(tmp_path.rglob("*")) == before


def test_export_to_gradescope_writes_a_file_a_submission_and_lists_who_has_no_grade(
    results, tmp_path
):
    shown = export("--to", "gradescope")
    assert shown.exit_code == 0
    files = sorted(
        path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("gradescope/*/*")
    )
    assert files == ["gradescope/ana/results.json", "gradescope/bob/results.json"]
    assert json.loads((tmp_path / files[0]).read_text(encoding="utf-8"))["score"] == 15
    assert "Not written (1): cem" in shown.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "canvas"), "--to canvas needs --into and --column"),
        (("--to", "nbgrader", "--course", "c"), "--to nbgrader needs --assignment"),
        (("--to", "nbgrader"), "`grader nbgrader autograde COURSE` grades and writes in one"),
        (("--to", "csv", "--column", "x"), "--to csv makes no use of --column"),
        (("--to", "json", "--write", "results/scores.json"), "would be taken for one"),
        (("--to", "csv", "--write", "no/where.csv"), "cannot be written"),
        (("--to", "csv", "--results", "empty"), "There are no results"),
        (("--to", "csv", "--policy", "no.toml"), "no.toml cannot be read"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(results, tmp_path, arguments, words):
    (tmp_path / "empty").mkdir()
    shown = export(*arguments)
    assert shown.exit_code == main.EXIT_USAGE
    assert words in " ".join(shown.output.split())
    assert "Traceback" not in shown.output


# -------------------------------------------------------------------------------------- nbgrader


@pytest.fixture
def notebook_tests() -> list[TestResult]:
    """Every test that stands in a notebook, passed."""
    from grader.integrations.nbgrader.cells import grade_cells

    return [
        TestResult(
            id=name,
            part=cell.part,
            section=cell.section,
            title=cell.title,
            visibility="hidden" if cell.hidden_only or "[hidden" in name else "public",
            points=cell.points / len(cell.tests),
            max_points=cell.points / len(cell.tests),
            state="passed",
        )
        for cell in grade_cells()
        for name in cell.tests
    ]


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    """An nbgrader course whose gradebook knows the homework's cells, and Ana and Bob."""
    nbgrader = pytest.importorskip("nbgrader.api", reason="nbgrader is not installed")
    from grader.integrations.nbgrader.cells import grade_cells, notebook_name, solution_id

    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    with nbgrader.Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        gradebook.add_assignment("hw")
        for student in ("ana", "bob"):
            gradebook.add_student(student)
        session = gradebook.db()
        commit, session.commit = session.commit, session.flush
        for part in PARTS:
            gradebook.add_notebook(notebook_name(part.number), "hw")
            for function in part.functions:
                gradebook.add_solution_cell(solution_id(function), notebook_name(part.number), "hw")
        for cell in grade_cells():
            gradebook.add_grade_cell(
                cell.grade_id, cell.key[0], "hw", max_score=cell.points, cell_type="code"
            )
        commit()
    return folder


def totals(course: Path) -> dict[str, tuple[float, datetime | None]]:
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {
            submission.student.id: (submission.score, submission.timestamp)
            for submission in gradebook.assignment_submissions("hw")
        }


@pytest.mark.slow
def test_export_to_nbgrader_writes_points_times_and_leaves_out_who_has_no_grade(
    notebook_tests, course, tmp_path, monkeypatch
):
    from nbgrader.api import Gradebook

    results = tmp_path / "results"
    results.mkdir()
    monkeypatch.chdir(tmp_path)
    failed = {"state": "failed", "points": 0.0, "message": "SECRET"}
    tests = [
        test.model_copy(update=failed) if test.part == 4 and test.visibility == "hidden" else test
        for test in notebook_tests
    ]
    write_record(results, a_record("ana", tests=notebook_tests))
    write_record(results, a_record("bob", tests=tests))
    write_record(results, a_record("cem", tests=notebook_tests, state="error"))
    write_record(results, a_record("old"))  # not the tests that the notebooks have
    Path("s.csv").write_text("student,submitted_at\nana,2026-10-05T23:00:00+02:00\n")
    arguments = ("--to", "nbgrader", "--course", course, "--assignment", "hw")
    shown = export(*arguments, "--submitted", "s.csv")
    assert shown.exit_code == 0, shown.output
    most = sum(test.max_points for test in notebook_tests)
    written = totals(course)
    assert set(written) == {"ana", "bob"}
    assert written["ana"] == (pytest.approx(most), datetime(2026, 10, 5, 21))
    assert 0 < written["bob"][0] < most
    assert "Left out (2): cem (no grade" in shown.output and "old (graded with" in shown.output
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        comments = [
            comment.auto_comment or ""
            for notebook in gradebook.find_submission("hw", "bob").notebooks
            for comment in notebook.comments
        ]
    assert any(comments) and "SECRET" not in "".join(comments)

    write_record(results, a_record("zoe", tests=notebook_tests))
    refused = export(*arguments)
    assert refused.exit_code == main.EXIT_USAGE and "zoe" in refused.output
    assert totals(course) == written
