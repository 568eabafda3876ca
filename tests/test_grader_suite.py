"""The grader on the sample class: verdicts, hidden cases, repeatability."""

from __future__ import annotations

import gc
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import grader.grading.rules
import grader.grading.submission
import grader.grading.suite
from assignment.harness.parts import MODULE_OF, PARTS, STUDENT_MODULES
from grader.authoring.in_words import questions
from grader.authoring.sample_class import EXAMPLES, KEPT
from grader.base.errors import GraderError
from grader.base.places import SOLUTION
from grader.base.seeds import load_secret
from grader.cli.demo import agrees_with
from grader.grade_class import grade_class
from grader.grading import rehearsal, submission
from grader.grading.ahead import _batches
from grader.grading.recording import RecordedCall, Recording, agree, objects_in, parts_of
from grader.grading.submission import run_both_ways, run_suite
from grader.grading.suite import Suite, collect
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import patched_modules
from grader.results.record import TestResult, read_record
from grader.sandbox import Limits, SandboxUnavailable, wire

EXPECTED = tomllib.loads((EXAMPLES / "expected.toml").read_text(encoding="utf-8"))


TELLTALE = """
import numpy as np

SEEN = []

def apply_rope(x, positions, theta=10000.0):
    SEEN.append(f"<{np.asarray(x, float).ravel()[-1]:.15g}>")
    raise ValueError(" ".join(SEEN))
"""


@pytest.fixture
def secret(graded_class) -> Path:
    return graded_class.secret


@pytest.fixture(scope="module")
def results(graded_class, tmp_path_factory) -> Path:
    """The sample class, and two submissions of this file graded to it."""
    made = tmp_path_factory.mktemp("made")
    out = shutil.copytree(graded_class.results, made / "out")
    work = [echo(made / "echo"), telltale(made / "telltale")]
    grade_class(work, out, secret_file=graded_class.secret, real_model=False, quiet=True)
    return out


def echo(folder: Path) -> Path:
    """Functions that give back their first argument."""
    folder.mkdir()
    for module in STUDENT_MODULES:
        names = [name for name, home in MODULE_OF.items() if home == module]
        code = "def echo(x=None, *rest, **more):\n    return x\n\n" + " = ".join(names)
        (folder / f"{module}.py").write_text(f"{code} = echo\n")
    return folder


def telltale(folder: Path) -> Path:
    """Says in every error all that it was given so far."""
    folder.mkdir()
    (folder / "rope.py").write_text(TELLTALE)
    return folder


def result_of(results: Path, name: str):
    result, note = read_record(results, name)
    assert result is not None, note
    return result


@pytest.mark.parametrize("name", EXPECTED)
def test_verdict(results, name):
    result = result_of(results, name)
    trusted = {test.part for test in result.tests if test.with_trusted_parts}
    assert trusted == set(EXPECTED[name].get("trusted_parts", []))
    messages = [f"{t.id}: {t.message}" for t in result.tests if t.state != "passed"]
    assert agrees_with(result, EXPECTED[name]), "\n".join(messages[:10])
    assert (result.total == result.max_total) == EXPECTED[name]["full_marks"]


def test_public_points_are_what_a_student_sees(results):
    result = result_of(results, "correct-einsum")
    assert sum(part.public_max for part in result.parts) == 130


def test_the_instructors_guide_says_how_many_points_there_are():
    tests = collect(Suite(hidden_cases=Path(), real_model=None, hash=""))
    public = sum(test.max_points for test in tests if test.visibility == "public")
    numpy_only = sum(test.max_points for test in tests)
    written = sum(question.points for question in questions())
    guide = (EXAMPLES.parent / "docs" / "instructors.md").read_text(encoding="utf-8")
    assert f"| public tests, as students see them | {public:g} |" in guide
    assert f"| with the hidden tests | {numpy_only:g} |" in guide
    assert f"| in nbgrader, with the written answers | {numpy_only + written:g} |" in guide


def test_every_public_case_has_a_hidden_twin(results):
    tests = {test.id for test in result_of(results, "correct-einsum").tests}
    public = {test for test in tests if "[public" in test}
    assert public and {test.replace("[public", "[hidden") for test in public} <= tests


def test_recompute_fails_on_the_cache_alone(results):
    failed = [t for t in result_of(results, "bug-recompute").tests if t.state == "failed"]
    assert {t.id.partition("[")[0].partition("::")[2] for t in failed} == {
        "test_decode_uses_the_cache"
    }
    assert all("recomputes the prefix in place of using the cache" in t.message for t in failed)


def test_the_first_bad_step_is_recorded(results):
    tests = {t.id: t for t in result_of(results, "bug-position-zero").tests}
    decode = tests["test_part4_kv_cache.py::test_decode[hidden-mha]"]
    assert decode.first_bad_step == 1
    assert decode.max_error > 1e-2 > decode.tolerance


def test_unfinished_work_is_not_started_or_waiting(results):
    states = {t.part: t.state for t in result_of(results, "half-finished").tests}
    done = dict.fromkeys((1, 2, 3), "passed")
    assert states == dict.fromkeys((part.number for part in PARTS), "not_started") | done | {
        5: states[5]
    }
    assert states[5] in ("not_started", "waiting")


def test_no_hidden_case_is_left_behind(results):
    assert [p.name for p in results.iterdir() if p.name.startswith(".scratch")] == []


def test_a_regrade_gives_the_same_result(sample_class, results, secret, tmp_path):
    source = sample_class / "bug-scale-missing"
    grade_class([source], tmp_path, secret_file=secret, real_model=False, quiet=True)
    again, before = (result_of(folder, source.name) for folder in (tmp_path, results))
    times = {"seconds", "graded_at", "tests"}
    assert again.model_dump(exclude=times) == before.model_dump(exclude=times)
    for one, other in zip(again.tests, before.tests, strict=True):
        assert one.model_copy(update={"seconds": 0}) == other.model_copy(update={"seconds": 0})


def test_another_secret_gives_other_hidden_cases(tmp_path):
    suites = [Suite.load(secret, False, tmp_path) for secret in (b"a" * 32, b"b" * 32)]
    one, other = (suite.case_sets["hidden"]["rope/float64"] for suite in suites)
    assert suites[0].hash != suites[1].hash
    assert one.x.shape != other.x.shape or (one.x != other.x).all()
    for suite in suites:
        suite.close()


def test_the_hidden_cases_are_readable_by_the_grader_only(tmp_path):
    suite = Suite.load(b"a" * 32, False, tmp_path)
    assert suite.hidden_cases.parent.stat().st_mode & 0o077 == 0
    suite.close()
    assert not suite.hidden_cases.exists()


def test_a_changed_test_changes_the_suites_hash(tmp_path, monkeypatch):
    before = grader.grading.suite.suite_hash(b"s" * 32)
    extra = tmp_path / "test_more.py"
    extra.write_text("# another test\n")
    sources = [*grader.grading.suite._sources(), extra]
    monkeypatch.setattr(grader.grading.suite, "_sources", lambda: sources)
    assert grader.grading.suite.suite_hash(b"s" * 32) != before


def test_a_real_model_that_is_not_there_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("KV_HOMEWORK_CACHE", str(tmp_path))
    with pytest.raises(GraderError, match=r"python -m reference_model\.smollm2"):
        Suite.load(b"a" * 32, True, tmp_path)


def test_a_sandbox_that_stops_working_is_an_error_and_no_zero(tmp_path, monkeypatch, secret):
    def refuse(self):
        raise SandboxUnavailable("no namespaces today")

    from grader.sandbox import Limits
    from grader.sandbox.remote import RemoteStudent

    monkeypatch.setattr(RemoteStudent, "_start", refuse)
    suite = Suite.load(b"a" * 32, False, tmp_path)
    with pytest.raises(SandboxUnavailable, match="no namespaces today"):
        grader.grading.submission.run_suite(suite, KEPT / "correct-einsum", "auto", Limits(), 0)


def a_test(name: str, state: str) -> TestResult:
    return TestResult(
        id=f"test_part3_rope.py::test_rope[{name}]",
        file="test_part3_rope.py",
        function="test_rope",
        case_set=name.partition("-")[0],
        case=name.partition("-")[2],
        part=3,
        section="3.2",
        title="rope",
        visibility=name.partition("-")[0],
        points=1.5 if state == "passed" else 0,
        max_points=1.5,
        state=state,
    )


@pytest.mark.parametrize(
    ("hidden", "points"), [("passed", 1.5), ("failed", 0), ("out_of_time", 0), ("waiting", 0)]
)
def test_a_public_case_earns_only_what_its_hidden_twin_confirms(hidden, points):
    """The public answers are in the student's hands: a table of them is no homework."""
    public, twin = grader.grading.rules.with_twin_rule(
        [a_test("public-float64", "passed"), a_test("hidden-float64", hidden)]
    )
    assert public.points == points
    assert public.state == ("passed" if points else "failed")
    assert twin.state == hidden


def test_empty_code_earns_next_to_nothing(results):
    """Functions that give back their first argument satisfy many a property."""
    assert result_of(results, "echo").total <= 5


def test_words_of_public_tests_hold_no_hidden_input(results, secret, tmp_path):
    """What a submission says of all it was given, told to its author where the test is public."""
    suite = Suite.load(load_secret(secret).key, False, tmp_path)
    cases, public = suite.case_sets["hidden"], suite.case_sets["public"]
    suite.close()
    names = [name for name in cases if name.startswith("rope/")]
    hidden, known = (
        {f"<{np.asarray(of[name].x, float).ravel()[-1]:.15g}>" for name in names}
        for of in (cases, public)
    )
    told: dict[str, set[str]] = {"public": set(), "hidden": set(), "own": set()}
    for test in result_of(results, "telltale").tests:
        if test.part == 3:
            kind = test.visibility if "[" in test.id else "own"
            told[kind].update(re.findall(r"<[^>]+>", test.message))
    assert told["hidden"] & hidden, "the submission tells nothing"
    assert told["public"] & known
    assert not (told["public"] | told["own"]) & hidden
    assert told["own"] - known, "nothing was drawn anew"
    assert told["public"] <= known, "drawn for others, and told where only golden data are known"


# ---- The recorded calls: what may be sent ahead, and that verdicts are as they are without them

# Asks the kernel at every decode step whether more requests wait in any pipe of this process.
LOOKS_AHEAD = """
import array, fcntl, os, stat, termios

_decode_step = decode_step

def decode_step(model, token, cache):
    for number in range(4096):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(number).st_mode)
            waiting = array.array("i", [0])
            if is_pipe:
                fcntl.ioctl(number, termios.FIONREAD, waiting)
        except OSError:
            continue
        if waiting[0]:
            raise RuntimeError("the next request is there before this one is answered")
    return _decode_step(model, token, cache)
"""
# One cache for all, as where it is a default argument: what comes second meets what was first.
SHARED = """
class _Shared(KVCache):
    kept = {}

    def __init__(self, n_layers, batch_size, *sizes):
        super().__init__(n_layers, batch_size, *sizes)
        self.__dict__.update(_Shared.kept.setdefault((n_layers, batch_size, *map(str, sizes)),
                                                     self.__dict__))

KVCache = _Shared
"""
# Right to far more digits than any test asks for, and not to the last.
SLIGHTLY_OFF = """
_softmax = softmax

def softmax(x, axis=-1):
    return _softmax(x, axis) * (1 + 1e-14)
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory, any_sandbox) -> Iterator[Suite]:
    folder = tmp_path_factory.mktemp("recorded")
    suite = Suite.load(bytes(32), False, folder)
    for path in (folder, *folder.parents[:2]):
        path.chmod(0o755)  # a worker is another user
    rehearsal.record(suite, any_sandbox.kind, Limits(), 0)
    yield suite
    suite.close()
    gc.collect()  # sessions hold maps of the cases, and a worker's pipes are numbered behind them


@pytest.fixture(scope="module")
def recording(suite) -> Recording:
    assert suite.recording is not None
    return suite.recording


@pytest.fixture
def handed_in(tmp_path):
    """The solution, with these lines behind a module of it."""

    def make(**more: str) -> Path:
        package = tmp_path / "assignment"
        package.mkdir()
        for module in SOLUTION.glob("*.py"):
            shutil.copy(module, package)
        for module, lines in more.items():
            with (package / f"{module}.py").open("a") as file:
                file.write(lines)
        for path in (tmp_path, *tmp_path.parents[:3]):
            path.chmod(0o755)
        return tmp_path

    return make


@pytest.fixture
def no_test_runs(monkeypatch):
    def run_to_end(session):
        raise AssertionError("a test was run")

    monkeypatch.setattr(submission, "run_to_end", run_to_end)


def test_every_test_is_recorded_and_few_hold_only_bit_for_bit(suite, recording):
    assert set(recording) == {test.id for test in suite.blank_tests}
    # Thresholds are crossed by the last bit, and slopes are differences of almost equal losses.
    assert {name for name, test in recording.items() if test.is_exact} <= {
        "test_part7_sampling.py::test_filters_keep_the_best",
        "test_part9_word2vec.py::test_gradients_of_the_loss",
    }


def test_no_request_is_sent_before_the_answer_that_it_holds(recording):
    for name, test in recording.items():
        for batch in _batches([call for call in test.calls if call.is_asked]):
            answers: set[bytes] = set()
            for call in batch:
                _, numbers = parts_of(call.frame)
                held = {answer for answer in answers if answer in numbers}
                assert not held, name
                body = bytes(call.reply[call.message_bytes :])
                answers |= {body} if len(body) > 8 and len(set(body)) > 2 else set()


def test_steps_on_one_cache_are_sent_one_by_one(recording):
    for name, test in recording.items():
        for batch in _batches(test.calls):
            steps = [parts_of(call.frame)[0] for call in batch]
            caches = [
                max(objects_in(step))
                for step in steps
                if str(step.get("name", "")).endswith("decode_step") and objects_in(step)
            ]
            assert len(caches) == len(set(caches)), name


def test_right_code_is_asked_and_no_test_runs(suite, handed_in, any_sandbox, no_test_runs):
    outcome = run_suite(suite, handed_in(), any_sandbox.kind, Limits(), 0)
    assert {test.state for test in outcome.tests} == {"passed"}
    assert [test.id for test in outcome.tests] == [test.id for test in suite.blank_tests]


def test_a_decode_never_sees_the_next_token(suite, handed_in, any_sandbox, no_test_runs):
    prepared = handed_in(kv_cache=LOOKS_AHEAD)
    outcome = run_suite(suite, prepared, any_sandbox.kind, Limits(), 0)
    assert {test.state for test in outcome.tests} == {"passed"}


def test_it_would_see_it_if_calls_did_not_wait(suite, recording, handed_in, any_sandbox):
    """So the test above can fail."""
    careless = {
        name: replace(test, calls=tuple(replace(call, waits=False) for call in test.calls))
        for name, test in recording.items()
    }
    without = replace(suite)
    vars(without)["recording"] = careless
    prepared = handed_in(kv_cache=LOOKS_AHEAD)
    outcome = run_suite(without, prepared, any_sandbox.kind, Limits(), 0)
    wrong = [test.id for test in outcome.tests if test.state != "passed"]
    assert any("decode" in name for name in wrong)


def test_code_that_is_slightly_off_gets_one_verdict(suite, handed_in, any_sandbox):
    prepared = handed_in(attention=SLIGHTLY_OFF)
    outcome = run_both_ways(suite, prepared, any_sandbox.kind, Limits(), 0)
    assert {test.state for test in outcome.tests} == {"passed"}


def test_a_cache_that_is_shared_fails_the_same_tests(suite, handed_in, any_sandbox):
    """It answers the same question otherwise when asked again: only its words may differ."""
    prepared = handed_in(kv_cache=SHARED)
    fast, slow = (
        run_suite(one, prepared, any_sandbox.kind, Limits(), 0)
        for one in (suite, suite.unrecorded())
    )
    verdicts = [[(t.id, t.state, t.points) for t in outcome.tests] for outcome in (fast, slow)]
    assert verdicts[0] == verdicts[1]
    assert any(test.state == "failed" for test in fast.tests)


def test_both_ways_give_one_verdict_and_name_for_a_known_bug(suite, handed_in, any_sandbox):
    prepared = handed_in()
    bug = bug_named("position-zero")
    for module, text in patched_modules(bug, SOLUTION).items():
        (prepared / "assignment" / f"{module}.py").write_text(text)
    outcome = run_both_ways(suite, prepared, any_sandbox.kind, Limits(), 0)
    assert any("position-zero" in found.bugs[0] for found in outcome.diagnoses)


def test_two_verdicts_are_an_error_that_names_the_test(
    suite, recording, handed_in, any_sandbox, monkeypatch
):
    """Were the comparison too lenient, a wrong softmax would pass on recorded calls."""
    monkeypatch.setattr("grader.grading.ahead.agree", lambda *_: True)
    prepared = handed_in(attention="\n\ndef softmax(x, axis=-1):\n    return x\n")
    with pytest.raises(GraderError, match=r"test_softmax\S+ has two verdicts: its \w+ is"):
        run_both_ways(suite, prepared, any_sandbox.kind, Limits(), 0)


def test_what_is_kept_of_the_replies_is_bounded(suite, handed_in, any_sandbox, monkeypatch):
    """Else eight MiB in answer to each of thousands of calls would be kept; now tests run."""
    monkeypatch.setattr("grader.grading.ahead.MOST_KEPT", 1 << 16)
    outcome = run_suite(suite, handed_in(), any_sandbox.kind, Limits(), 0)
    assert {test.state for test in outcome.tests} == {"passed"}


def test_replies_to_one_batch_fill_one_frame_at_most():
    nonces = [b"1" * 8, b"2" * 8]
    one, other = (wire.build_frame(nonce, {"ok": "x" * 50}, [], 100) for nonce in nonces)
    incoming = wire.Incoming(nonces, 130)
    incoming.add(one[:30])
    incoming.add(one[30:] + other)
    assert incoming.is_complete and incoming.replies[0] == incoming.replies[1]
    with pytest.raises(wire.WireError, match="announces 59 bytes"):
        wire.Incoming(nonces, 100).add(one + other)
    with pytest.raises(wire.WireError, match="does not answer"):
        wire.Incoming(nonces, 130).add(other)
    with pytest.raises(wire.WireError, match="more was sent"):
        wire.Incoming(nonces[:1], 130).add(one + b"x")


# --- what agrees -------------------------------------------------------------------------------


def answered(value) -> RecordedCall:
    arrays: list[np.ndarray] = []
    message = {"ok": wire.pack(value, arrays, str), "changed": []}
    frame = wire.build_frame(bytes(8), message, arrays, 1 << 20)
    text = len(json.dumps(message, separators=(",", ":")))
    return RecordedCall(b"", frame[wire.HEADER.size :], text)


def agrees(one, other, is_exact: bool = False) -> bool:
    reply = answered(other)
    return agree(answered(one), bytes(reply.reply), reply.message_bytes, is_exact)


def test_floats_agree_to_the_last_digits_and_all_else_is_equal():
    numbers = np.array([1.0, -np.inf, 0.0, 3e5])
    assert agrees(numbers, numbers + np.array([0, 0, 2e-7, 0]))
    assert not agrees(numbers, numbers + np.array([0, 0, 4e-7, 0]))
    assert not agrees(numbers, numbers + np.array([0, 0, 2e-7, 0]), is_exact=True)
    assert not agrees(numbers, np.array([1.0, np.inf, 0.0, 3e5]))
    assert not agrees(numbers, np.array([1.0, np.nan, 0.0, 3e5]))
    assert agrees(np.array([np.nan]), np.array([np.nan]))
    assert not agrees(numbers, numbers.astype(np.float32))
    assert not agrees(numbers, numbers.reshape(2, 2))
    assert not agrees(np.arange(3), np.array([0, 1, 3]))
    assert agrees([0.25, 1], [0.25 + 1e-13, 1])
    assert not agrees([0.25, 1], [0.26, 1])
    assert not agrees([0.25, 1], [0.25, 1.0])
    assert not agrees([0.25, 1], [0.25, True])
