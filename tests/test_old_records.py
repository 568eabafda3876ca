"""Records of schema version 1 are still read: those in old_records/ were written at 9ec7f01.

`ana-2.json` is of a run that spoke English, `cyd.json` of one in Chinese; both were cut down to a
few of their tests.
"""

import json
from pathlib import Path

import pytest

from grader.base.notes import in_words
from grader.grades.class_scores import score_class
from grader.grades.policy import score
from grader.grades.policy_file import Policy
from grader.grading import second_run
from grader.reports.pages.student import student_page
from grader.results.history import read_score
from grader.results.record import (
    SubmissionResult,
    make_result,
    parse_record,
    read_record,
    write_record,
)
from grader.results.summary import summarise

FOLDER = Path(__file__).parent / "old_records"


def old(student: str) -> dict:
    return json.loads((FOLDER / f"{student}.json").read_text(encoding="utf-8"))


@pytest.fixture
def ana() -> SubmissionResult:
    """Who has the same id as another."""
    record, refusal = read_record(FOLDER, "ana-2")
    assert refusal is None
    return record


@pytest.fixture
def cyd() -> SubmissionResult:
    """Whose files cannot be imported."""
    record, refusal = read_record(FOLDER, "cyd")
    assert refusal is None
    return record


@pytest.mark.parametrize("student", ["ana-2", "cyd"])
def test_what_is_said_and_scored_stays(student):
    before, (record, _) = old(student), read_record(FOLDER, student)
    assert before["schema_version"] == 1 and record.schema_version == 2
    assert (record.total, record.max_total) == (before["total"], before["max_total"])
    assert [in_words(note) for note in record.notes] == before["notes"]
    assert [test.id for test in record.tests] == [test["id"] for test in before["tests"]]
    for test, there in zip(record.tests, before["tests"], strict=True):
        title = f"{test.title} ({test.variant})" if test.variant else test.title
        now = (title, test.message, test.points, test.state)
        assert now == tuple(there[name] for name in ("title", "message", "points", "state"))


def test_a_repeated_id_becomes_a_field(ana, tmp_path):
    assert [note.kind for note in ana.notes] == ["same_id", "words"]
    assert ana.notes[0].fields == {"name": "ana"}
    write_record(tmp_path, ana.model_copy(update={"student": "ana", "notes": ()}))
    (tmp_path / "ana-2.json").write_bytes((FOLDER / "ana-2.json").read_bytes())
    repeated = {found.student: found.repeated for found in score_class(tmp_path, Policy())}
    assert repeated == {"ana": ("ana-2",), "ana-2": ("ana",)}
    page = student_page(ana, score(ana, Policy()), Policy())
    assert "<li>another submission has the same id</li>" in page


def test_ids_and_titles_become_names(ana):
    names = [(t.file, t.function, t.case_set, t.case, t.variant) for t in ana.tests]
    assert names == [
        ("test_part1_attention.py", "test_softmax", "public", "float64", "float64"),
        ("test_part1_attention.py", "test_softmax", "hidden", "float64", "float64"),
        ("test_part1_attention.py", "test_softmax_ignores_a_common_shift", None, "", ""),
        ("test_part3_rope.py", "test_rope_frequencies", "public", "", ""),
        ("test_part4_kv_cache.py", "test_decode", "hidden", "mha", "mha"),
        (
            "test_part7_sampling.py",
            "test_senseless_settings",
            None,
            "apply_temperature-2",
            "apply_temperature, 2",
        ),
    ]
    public, hidden, *_ = ana.tests
    assert public.twin_key == hidden.twin_key


def test_messages_of_a_chinese_run_become_fields(cyd):
    failures = {test.part: test.import_failure for test in cyd.tests}
    assert failures[5].kind == "not_python"
    assert (failures[5].file, failures[5].line) == ("gqa.py", 44)
    assert failures[1] is failures[3] is failures[4] is None  # they decided nothing
    gqa = [test for test in cyd.tests if test.part == 5]
    assert gqa and not any(map(second_run._is_lost, gqa))
    (masked,) = (test for test in cyd.tests if test.where)
    assert masked.where == masked.message.splitlines()[1]
    shown = summarise(cyd.model_copy(update={"diagnoses": ()})).problem
    assert shown == f"1.2 {masked.where}"[:160]


def test_the_sandbox_becomes_a_field(cyd):
    assert cyd.sandbox == "bubblewrap" and cyd.sandbox_tier.startswith("bubblewrap (")
    assert read_score(FOLDER / "cyd.json").sandbox == "bubblewrap"
    assert read_score(FOLDER / "cyd.json").schema_version == 1
    none = parse_record(json.dumps(old("cyd") | {"sandbox_tier": "none"}).encode())
    nothing_ran = parse_record(json.dumps(old("cyd") | {"sandbox_tier": ""}).encode())
    assert (none.sandbox, nothing_ran.sandbox) == ("none", None)


@pytest.mark.parametrize(
    "changes",
    [
        {"total": 100.0},
        {"notes": [1]},
        {"notes": 7},
        {"tests": None},
        {"tests": [[]]},
        {"tests": [{}]},
        {"sandbox_tier": "a wish"},
        {"sandbox_tier": 1},
        {"mood": "?"},
    ],
)
def test_an_old_record_that_is_none_is_never_trusted(changes, tmp_path):
    (tmp_path / "cyd.json").write_text(json.dumps(old("cyd") | changes))
    record, refusal = read_record(tmp_path, "cyd")
    assert record is None and refusal.fields["why"] == "damaged"
    assert read_score(tmp_path / "cyd.json") is None


def test_a_sentence_of_a_new_record_is_not_read(ana, tmp_path):
    """A file may be called like an old note."""
    words = [note.model_copy(update={"kind": "link", "fields": {"file": in_words(note)}})
             for note in ana.notes]  # fmt: skip
    new = make_result(
        student="ana-2", source="", submission_hash="", suite_hash="", suite_version="1",
        state="graded", notes=words,
    )  # fmt: skip
    write_record(tmp_path, new)
    write_record(tmp_path, new.model_copy(update={"student": "ana", "notes": ()}))
    assert all(found.repeated == () for found in score_class(tmp_path, Policy()))
