"""Records: their schema, atomic writing, and the refusal to trust what is not ours."""

import json
import math
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from rich.console import Console

from assignment.harness.words import plain
from grader.base.notes import in_words, note
from grader.grades.class_scores import score_class
from grader.grades.policy import score
from grader.grades.policy_file import Policy
from grader.grading import second_run
from grader.reports.class_table import class_table, print_result
from grader.reports.pages.student import student_page
from grader.results.changes import other_limits
from grader.results.history import read_score
from grader.results.record import (
    MAX_MESSAGE,
    ImportFailure,
    SubmissionResult,
    TestResult,
    make_result,
    parse_record,
    read_record,
    record_path,
    remove_drafts,
    write_record,
)
from grader.results.summary import summarise


def a_test(number: int = 1, **changes) -> TestResult:
    fields = {
        "id": f"test_part4_kv_cache.py::test_{number}",
        "part": 4,
        "section": "4.2",
        "title": "decode_step",
        "visibility": "public",
        "points": 1.0,
        "max_points": 2.0,
        "state": "failed",
        "message": "shape (2, 5), expected (2, 7)",
    }
    return TestResult(**(fields | changes))


def a_result(student: str = "ana", **changes) -> SubmissionResult:
    fields = {
        "student": student,
        "source": f"{student}.zip",
        "submission_hash": "h",
        "suite_hash": "s",
        "suite_version": "1",
        "state": "graded",
        "tests": [a_test(1), a_test(2, part=1, visibility="hidden", points=0.1)],
        "sandbox_tier": "bubblewrap",
    }
    return make_result(**(fields | changes))


def shown(printer, width: int = 100) -> str:
    console = Console(width=width, force_terminal=True, color_system=None, record=True)
    printer(console)
    return console.export_text()


def test_a_record_reads_back_equal_and_its_sums_are_right(tmp_path):
    result = a_result(tests=[a_test(i, points=0.1, max_points=0.1) for i in range(3)])
    write_record(tmp_path, result)
    assert read_record(tmp_path, "ana") == (result, None)
    assert (result.total, result.max_total) == (0.3, 0.3)
    (part,) = result.parts
    assert (part.part, part.public, part.public_max, part.hidden_max) == (4, 0.3, 0.3, 0.0)


def test_points_are_split_by_part_and_visibility():
    parts = {row.part: row for row in a_result().parts}
    assert list(parts) == [1, 4]
    assert (parts[1].hidden, parts[1].hidden_max, parts[1].public_max) == (0.1, 2.0, 0.0)
    assert (parts[4].public, parts[4].public_max, parts[4].hidden_max) == (1.0, 2.0, 0.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_json_holds_no_nan_and_reads_back_the_same(value, tmp_path):
    write_record(tmp_path, a_result(tests=[a_test(max_error=value, tolerance=1e-9)]))

    def refuse(name: str):
        raise AssertionError(f"{name} is not JSON")

    json.loads(record_path(tmp_path, "ana").read_text(), parse_constant=refuse)
    result, _ = read_record(tmp_path, "ana")
    assert result.tests[0].max_error == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("points", [math.nan, math.inf, -1.0])
def test_points_must_be_finite_and_not_negative(points):
    with pytest.raises(ValidationError):
        a_test(points=points)


def test_texts_of_submissions_are_bounded_and_storable(tmp_path):
    test = a_test(message="\ud800" + "x" * 10**6)
    result = a_result(
        tests=[test],
        notes=[note("words", text="n" * 10**5)] * 1000,
        output_tail="a" * 10**6 + "end",
    )
    write_record(tmp_path, result)
    assert len(test.message) == MAX_MESSAGE and test.message.startswith("?")
    assert result.output_tail.endswith("end")
    assert in_words(result.notes[-1]) == "… and 951 more notes"
    assert record_path(tmp_path, "ana").stat().st_size < 60_000
    assert read_record(tmp_path, "ana")[0] == result


def test_the_messages_of_all_tests_together_are_bounded():
    """Of a submission that raises as many words as it can, in every test."""
    long = "x" * MAX_MESSAGE
    failure = ImportFailure(kind="raised", module="rope", file="rope.py", problem=long)
    texts = {"message": long, "where": long, "own_message": long, "import_failure": failure}
    loud = [a_test(**texts, points=0.0) for _ in range(300)]
    result = a_result(tests=loud)
    assert result.tests[0] == loud[0] and len(result.tests[-1].message) == 120
    assert len(result.model_dump_json()) < 500_000


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_half_written_record_is_never_trusted(keep, tmp_path):
    path = write_record(tmp_path, a_result())
    content = path.read_bytes().rstrip()
    path.write_bytes(content[: int(len(content) * keep)])
    result, refusal = read_record(tmp_path, "ana")
    assert result is None
    assert refusal.fields["why"] == "damaged" and "graded anew" in in_words(refusal)


def edited(result: SubmissionResult, **changes) -> bytes:
    return json.dumps(json.loads(result.model_dump_json()) | changes).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"null",
        b"[]",
        b'{"score": 100}',
        b"[" * 200_000,
        b"\xff\xfe",
        edited(a_result(), schema_version=0),
        edited(a_result(), schema_version=3),
        edited(a_result(), state="perfect"),
        edited(a_result(), total=100.0),
        edited(a_result(), parts=[]),
        edited(a_result(), extra=1),
        edited(a_result(), graded_at="2026-01-01T00:00:00"),
        edited(a_result("bob")),
    ],
)
def test_foreign_record_is_never_trusted(content, tmp_path):
    record_path(tmp_path, "ana").write_bytes(content)
    result, refusal = read_record(tmp_path, "ana")
    assert result is None and "graded anew" in in_words(refusal)


def test_links_pipes_and_folders_are_not_read_as_records(tmp_path):
    path = record_path(tmp_path, "ana")
    elsewhere = write_record(tmp_path, a_result("ana")).rename(tmp_path / "elsewhere")
    assert read_record(tmp_path, "ana") == (None, None)
    for make in (lambda: path.symlink_to(elsewhere), path.mkdir, lambda: os.mkfifo(path)):
        make()
        result, refusal = read_record(tmp_path, "ana")
        assert result is None and "graded anew" in in_words(refusal)
        path.rmdir() if path.is_dir() else path.unlink()


def test_failed_write_leaves_the_old_record_and_no_draft(tmp_path, monkeypatch):
    old = a_result()
    write_record(tmp_path, old)

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_record(tmp_path, a_result(state="missing"))
    monkeypatch.undo()
    assert read_record(tmp_path, "ana")[0] == old
    assert [path.name for path in tmp_path.iterdir()] == ["ana.json"]


def test_record_is_complete_before_it_gets_its_name(tmp_path, monkeypatch):
    seen = []
    replace = Path.replace

    def look(self, target):
        seen.append(SubmissionResult.model_validate_json(self.read_bytes()))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", look)
    write_record(tmp_path, a_result())
    assert [result.student for result in seen] == ["ana"]


def test_leftover_drafts_are_removed_and_nothing_else(tmp_path):
    for name in (".0123.tmp", "ana.json", ".grader.lock", "notes.tmp"):
        (tmp_path / name).touch()
    remove_drafts(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".grader.lock", "ana.json", "notes.tmp"]


HOSTILE = "\x1b[2J\x1b]0;title\x07[bold red]A+[/] \u202egnp.\u2066 \x9b31m \r\b100/100"


def test_plain_removes_what_could_act_on_a_terminal():
    cleaned = plain(HOSTILE)
    assert not set(cleaned) & set("\x1b\x07\u202e\u2066\x9b\r\b")
    assert "[bold red]A+[/]" in cleaned
    assert plain("a\nb\tc") == "a b c"
    assert plain("a\nb", lines=True) == "a\nb"
    assert plain("x ≤ 1e-9 张伟") == "x ≤ 1e-9 张伟"


def test_hostile_text_is_shown_as_text_everywhere():
    test = a_test(message=HOSTILE, title=HOSTILE)
    result = a_result(
        tests=[test], notes=[note("words", text=HOSTILE)], output_tail=HOSTILE, source=HOSTILE
    )
    from grader.results.summary import summarise

    for text in (
        shown(lambda console: console.print(class_table([summarise(result)])), 200),
        shown(lambda console: print_result(result, console), 200),
    ):
        assert not set(text) & set("\x07\u202e\u2066\x9b\r\b\x1b")
        assert "[bold red]A+[/]" in text


def test_class_table_shows_points_and_first_problem_and_no_zero_for_an_error():
    from grader.results.summary import summarise

    passed = a_test(1, state="passed", points=2.0, message="")
    idle = a_test(2, part=5, section="5.1", state="not_started", points=0.0, message="stub")
    wrong = a_test(3, part=6, section="6.1", title="mla_naive", message="wrong scale\nmore")
    graded = summarise(a_result("ana", tests=[passed, idle, wrong]))
    broken = summarise(a_result("bob", tests=[], state="error", reason="the worker hung"))
    text = shown(lambda console: console.print(class_table([broken, graded])), 140)
    ana, bob = (line for line in text.splitlines() if line.startswith(("ana", "bob")))
    assert "6.1 wrong scale" in ana and "more" not in ana
    stub = a_test(2, section="4.1", state="not_started", points=0.0, message="4.1 KVCache is not …")
    assert summarise(a_result("cyd", tests=[stub])).problem == "4.1 KVCache is not …"
    assert "the worker hung" in bob
    assert "0" not in bob


def test_a_record_from_before_a_limit_was_known_is_not_of_other_limits():
    old, new = {"call_seconds": 5.0}, {"call_seconds": 5.0, "idle_seconds": 10.0}
    scores = {"ana": SimpleNamespace(limits=old), "bob": SimpleNamespace(limits=new)}
    assert other_limits(Path("results"), scores=scores) == ""
    assert other_limits(Path("results"), limits=old, scores=scores) == ""
    told = other_limits(Path("results"), limits={**new, "call_seconds": 2.0}, scores=scores)
    assert "call_seconds 5 in place of 2" in told and "ana, bob" in told


# ---- Records of schema version 1 are still read: old_records

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
