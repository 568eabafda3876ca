"""The recorded calls: what may be sent ahead, and that verdicts are as they are without them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.base.errors import GraderError
from grader.base.places import SOLUTION
from grader.grading import rehearsal, submission
from grader.grading.ahead import _batches
from grader.grading.recording import RecordedCall, Recording, agree, objects_in, parts_of
from grader.grading.submission import run_both_ways, run_suite
from grader.grading.suite import Suite
from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import patched_modules
from grader.sandbox import Limits, wire

# Asks the kernel at every decode step whether more requests wait in any pipe of this process.
LOOKS_AHEAD = """
import array, fcntl, os, stat, termios

_decode_step = decode_step

def decode_step(model, token, cache):
    for number in range(64):
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
