"""No decision reads a sentence: a class is graded the same where every sentence is nonsense."""

import subprocess
import sys
from pathlib import Path

import pytest

import solution
from grader.grade_class import grade_class
from grader.grades.class_scores import score_class
from grader.grades.policy_file import Policy
from grader.reports.pages.student import student_page
from grader.results.record import SubmissionResult, read_record
from grader.results.summary import Summary, summarise

SOLUTION = Path(solution.__file__).parent
STUDENTS = ("ana-1", "ana-2", "bob", "cyd", "dan")


def right(module: str, old: str = "", new: str = "") -> str:
    """A module of the solution, or one with a mistake."""
    text = (SOLUTION / f"{module}.py").read_text(encoding="utf-8")
    assert text.count(old) == 1 or not old, f"{module}.py has {text.count(old)} times {old!r}"
    return text.replace(old, new)


def hand_in(folder: Path, **modules: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def submissions(tmp_path_factory) -> list[Path]:
    """Two students of one id, one with two known bugs, one with files that cannot be imported."""
    folder = tmp_path_factory.mktemp("class")
    no_scale = right("attention", " / math.sqrt(q.shape[-1])")
    ana = hand_in(
        folder / "one" / "ana",
        attention=no_scale,  # and no rope.py, for which the others wait
        kv_cache=right("kv_cache", "np.arange(start, start + length)", "np.arange(length)"),
    )
    other = hand_in(folder / "two" / "ana", attention=right("attention"))
    bob = hand_in(  # all but part 1 is right, which the other parts need
        folder / "three" / "bob",
        attention=no_scale,
        gqa=right("gqa"),
        sampling=right("sampling", "logits / temperature", "logits * temperature"),
    )
    hand_in(
        folder / "three" / "cyd",
        attention=no_scale,
        gqa=right("gqa", "def mean_pool_kv_heads(", "def mean_pool_kv_heads(("),
        rope="import sys\n\nsys.exit()\n",
        kv_cache="from .nowhere import KVCache\n",
        exercises=right("exercises"),
    )
    (folder / "three" / "dan").mkdir()
    (folder / "three" / "dan" / "Attention.txt").write_text("I am sorry.", encoding="utf-8")
    return [ana, other, bob.parent]


@pytest.fixture(scope="module")
def sandbox(any_sandbox) -> str:
    return any_sandbox.kind


@pytest.fixture(scope="module")
def in_english(tmp_path_factory, submissions, sandbox) -> Path:
    folder = tmp_path_factory.mktemp("english")
    options = {"secret_file": folder / "secret.hex", "real_model": False, "quiet": True}
    grade_class(submissions, folder / "results", sandbox=sandbox, **options)
    return folder / "results"


@pytest.fixture(scope="module")
def in_nonsense(tmp_path_factory, submissions, sandbox, in_english) -> Path:
    out = tmp_path_factory.mktemp("nonsense") / "results"
    program = Path(__file__).parent / "speak_nonsense.py"
    secret = in_english.parent / "secret.hex"
    command = [sys.executable, program, out, secret, sandbox, *submissions]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return out


def record_of(results: Path, student: str) -> SubmissionResult:
    record, _ = read_record(results, student)
    assert record is not None
    return record


def facts(record: SubmissionResult) -> dict:
    """A record without its sentences and its times."""
    words = {"message", "own_message", "where", "seconds"}
    leave_out = {
        "reason": True,
        "seconds": True,
        "graded_at": True,
        "tests": {"__all__": words},
        "diagnoses": {"__all__": {"fact"}},
    }
    return record.model_dump(exclude=leave_out)


@pytest.mark.parametrize("student", STUDENTS)
def test_nonsense_gets_the_same_record_but_for_its_words(in_english, in_nonsense, student):
    expected, found = record_of(in_english, student), record_of(in_nonsense, student)
    assert facts(found) == facts(expected)
    for one, other in zip(expected.tests, found.tests, strict=True):
        assert [bool(one.message), bool(one.own_message), bool(one.where)] == [
            bool(other.message),
            bool(other.own_message),
            bool(other.where),
        ], one.id
        assert other.where in other.message
    said = {test.message for test in expected.tests} & {test.message for test in found.tests}
    assert said <= {""}, "a sentence escaped the nonsense"


def test_the_class_has_all_that_was_decided_by_sentences(in_english):
    """Else the nonsense would prove nothing."""
    ana, other, bob, cyd, dan = (record_of(in_english, student) for student in STUDENTS)
    assert [note.kind for note in other.notes] == ["same_id", "from_stubs"]
    assert {name for found in ana.diagnoses for name in found.bugs[0]} >= {"scale-missing"}
    assert {test.state for test in other.tests} == {"passed", "not_started", "waiting"}
    assert {test.state for test in ana.tests} == {"passed", "failed", "not_started", "waiting"}
    assert {test.part for test in bob.tests if test.with_trusted_parts} == {2, 5}
    assert any(test.where for test in bob.tests)
    why = {test.import_failure.kind for test in cyd.tests if test.import_failure}
    assert why == {"not_python", "ends_program", "raised"}
    assert dan.state == "missing" and "rename it to attention.py" in dan.reason


def test_a_file_that_is_no_python_is_not_tried_again(in_english, in_nonsense):
    """A second run would say, in a line more, that it fails also with trusted other parts."""
    lines = []
    for results in (in_english, in_nonsense):
        tests = [test for test in record_of(results, "cyd").tests if test.import_failure]
        gqa = [test for test in tests if (test.part, test.import_failure.file) == (5, "gqa.py")]
        assert {test.import_failure.line for test in gqa} == {44}
        lines.append([(test.id, test.message.count("\n")) for test in tests])
    assert lines[0] == lines[1]
    told = {t.part: "trusted versions" in t.message for t in record_of(in_english, "cyd").tests}
    assert told[3]


def test_nonsense_holds_the_same_students_apart(in_english, in_nonsense):
    found = [
        [(score.student, score.final, score.repeated) for score in score_class(results, Policy())]
        for results in (in_english, in_nonsense)
    ]
    assert found[0] == found[1]
    apart = {student: repeated for student, _, repeated in found[0] if repeated}
    assert apart == {"ana-1": ("ana-2",), "ana-2": ("ana-1",)}


def test_what_nonsense_graded_is_said_in_the_language_of_the_page(in_nonsense):
    record = record_of(in_nonsense, "ana-2")
    (score,) = (s for s in score_class(in_nonsense, Policy()) if s.student == "ana-2")
    page = student_page(record, score, Policy())
    assert "<li>another submission has the same id</li>" in page  # and not which
    assert "<li>not handed in, graded as unfinished: accounting.py, exercises.py" in page


def test_the_class_table_chooses_the_same_lines(in_english, in_nonsense):
    for student in STUDENTS:
        for without in ({}, {"diagnoses": ()}):
            both = (record_of(results, student) for results in (in_english, in_nonsense))
            records = [record.model_copy(update=without) for record in both]
            shown = [shown_of(record, summarise(record)) for record in records]
            assert shown[0] == shown[1], student


def shown_of(record: SubmissionResult, summary: Summary) -> str:
    """Which text of a record the class table shows."""
    texts = {"reason": record.reason}
    texts |= {f"fact {found.part}": found.fact for found in record.diagnoses}
    for test in record.tests:
        texts |= {f"{test.id} where": test.where, f"{test.id} message": test.message}
    shown = summary.problem
    for name, text in texts.items():
        line = text.strip().splitlines()[:1]
        if line and line[0][:100] in shown:
            return name
    raise AssertionError(f"nothing in the record says {shown!r}")
