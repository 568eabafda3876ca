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
from grader.reports.class_table import class_table, print_result
from grader.results.changes import other_limits
from grader.results.record import (
    MAX_MESSAGE,
    ImportFailure,
    SubmissionResult,
    TestResult,
    make_result,
    read_record,
    record_path,
    remove_drafts,
    write_record,
)


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
