"""Records the suite on the solution, and rehearses it to see what the recording may stand for.

In the rehearsal every number that the solution answered is moved by as much as `agree` lets pass.
A test that fails then, or asks other things, holds only bit for bit; and a call that differs then
was made of an earlier answer, so it is not asked before that one has come.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.base.places import SOLUTION
from grader.diagnosis.lookup import test_name
from grader.sandbox import Limits, choose_sandbox
from grader.sandbox.remote import Body, RemoteStudent, Replay

from .recording import (
    CLOSE,
    RecordedCall,
    RecordedTest,
    Recording,
    arrays_in,
    objects_in,
    parts_of,
    reach_of,
    write_recording,
)
from .session import GradingSession, RemoteBackend, run_to_end, turn_of
from .suite import Suite

# Of calls that are alike.
MOST_ALIKE = 40
_ASKS = {"call", "method", "invoke"}


def record(suite: Suite, sandbox_name: str, limits: Limits, slot: int) -> None:
    """Leave the recording where `suite.recording` finds it; called in a process of its own.

    A test that the solution does not pass here is left out: all submissions are then asked it one
    call at a time.
    """
    with tempfile.TemporaryDirectory(dir=suite.hidden_cases.parent) as folder:
        prepared = _prepared(Path(folder))
        with RemoteStudent(
            choose_sandbox(sandbox_name), prepared, limits, slot, suite.mapped_files
        ) as remote:
            played = _played(suite, remote)
    write_recording(_rehearsed(suite, played), suite.recording_folder)


def _prepared(folder: Path) -> Path:
    """The solution as intake leaves a submission."""
    folder.chmod(0o755)  # a worker is another user
    package = folder / "assignment"
    package.mkdir()
    for module in sorted(SOLUTION.glob("*.py")):
        shutil.copy(module, package)
    return folder


class _Recorder:
    """Notes each exchange by the test that runs."""

    def __init__(self) -> None:
        self.calls: dict[str, list[tuple[bytes, Body]]] = {}
        self.turns: dict[str, int] = {}
        self._now: list[tuple[bytes, Body]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> None:
        self._now = self.calls.setdefault(test_name(item), [])
        self.turns[test_name(item)] = turn_of(item)

    def replay_of(self, test: str) -> None:
        return None

    def note(self, frame: bytes, body: Body) -> None:
        self._now.append((frame, body))


def _played(suite: Suite, remote: RemoteStudent) -> Recording:
    recorder = _Recorder()
    remote.tap = recorder.note
    session = GradingSession(suite, RemoteBackend(remote), recorder)
    run_to_end(session)
    passed = {
        result.id: result.model_copy(update={"seconds": 0.0})
        for result in session.results
        if result.state == "passed"
    }
    return {
        name: RecordedTest(recorder.turns[name], True, _calls(exchanges), passed[name])
        for name, exchanges in recorder.calls.items()
        if name in passed and exchanges
    }


def _calls(exchanges: Sequence[tuple[bytes, Body]]) -> tuple[RecordedCall, ...]:
    calls = []
    answers: set[bytes] = set()  # of the calls since the last that waits
    for frame, (reply, message_bytes) in exchanges:
        message, given = parts_of(frame)
        numbers = _numbers_in([message.get("args"), message.get("kwargs")], given)
        is_on_object = message["op"] in _ASKS and bool(objects_in(message))
        waits = is_on_object or not answers.isdisjoint(numbers)
        if waits:
            answers.clear()
        call = RecordedCall(frame, reply, message_bytes, waits)
        answers |= set(_numbers_in(json.loads(call.message), reply[message_bytes:]))
        calls.append(call)
    return tuple(calls)


def _numbers_in(message: Any, numbers: bytes) -> list[bytes]:
    """Of arrays that are not so small that others are equal by chance."""
    found, place = [], 0
    for dtype, count in arrays_in(message):
        end = place + count * dtype.itemsize
        if count > 1:
            found.append(numbers[place:end])
        place = end
    return found


# --- rehearsal ---------------------------------------------------------------------------------


def _rehearsed(suite: Suite, recording: Recording) -> Recording:
    sandbox = choose_sandbox("none")  # never started: every call is answered from the recording
    with RemoteStudent(sandbox, Path(), mapped=suite.mapped_files) as remote:
        moved = {name: _Moved(test.calls) for name, test in recording.items()}
        stage = _Stage(moved)
        session = GradingSession(suite, RemoteBackend(remote), stage)
        run_to_end(session)
    passed = {result.id for result in session.results if result.state == "passed"}
    return {name: _marked(test, moved[name], name in passed) for name, test in recording.items()}


def _marked(test: RecordedTest, rehearsed: _Moved, passed: bool) -> RecordedTest:
    """Which calls wait, and whether the test holds only bit for bit."""
    # Of what a test did not come to in the rehearsal, nothing is known.
    follows = list(islice(chain(rehearsed.follows, repeat(True)), len(test.calls)))
    left_out = _left_out(test.calls, follows)
    calls = tuple(
        replace(call, waits=call.waits or follow, is_asked=place not in left_out)
        for place, (call, follow) in enumerate(zip(test.calls, follows, strict=True))
    )
    return replace(test, calls=calls, is_exact=not (passed and rehearsed.is_as_recorded))


def _left_out(calls: Sequence[RecordedCall], follows: Sequence[bool]) -> set[int]:
    """Most of many calls that are alike: of the same shapes, made of earlier answers, on no object.

    As the steps of a training are. Each is compared by itself, so some forty tell what all do.
    """
    alike = defaultdict(list)
    for place, (call, follow) in enumerate(zip(calls, follows, strict=True)):
        message, _ = parts_of(call.frame)
        if follow and message["op"] == "call" and not objects_in(message):
            alike[json.dumps(message, sort_keys=True)].append(place)
    left_out = set()
    for places in alike.values():
        every = max(1, len(places) // MOST_ALIKE)
        left_out |= set(places[1:-1]) - set(places[::every])
    return left_out


class _Stage:
    """Answers every call of every test from the recording."""

    def __init__(self, replays: dict[str, _Moved]) -> None:
        self._replays = replays

    def replay_of(self, test: str) -> Replay:
        return self._replays.get(test, _Moved(()))


@dataclass
class _Moved:
    """The recorded replies of one test in their order, each moved.

    Attributes:
        follows: by call, whether it differs from the recorded one by now.
        is_as_recorded: whether the same functions were asked for, as often.
    """

    calls: Sequence[RecordedCall]
    follows: list[bool] = field(default_factory=list)
    asked_another: bool = False

    @property
    def is_as_recorded(self) -> bool:
        return len(self.follows) == len(self.calls) and not self.asked_another

    def __call__(self, frame: bytes) -> Body:
        if len(self.follows) == len(self.calls):
            self.asked_another = True
            raise LookupError("the recording has no further call")
        call = self.calls[len(self.follows)]
        self.follows.append(frame != call.frame)
        if frame != call.frame and _function_of(frame) != _function_of(bytes(call.frame)):
            self.asked_another = True
        return moved(call, np.random.default_rng(len(self.follows)))


def _function_of(frame: bytes) -> tuple[Any, ...]:
    message, _ = parts_of(frame)
    return tuple(message.get(key) for key in ("op", "name", "attr", "h"))


def moved(call: RecordedCall, rng: np.random.Generator) -> Body:
    """A reply as far from the recorded one as one that `agree` lets pass."""
    message = json.loads(call.message)
    numbers = bytearray(call.reply[call.message_bytes :])
    place = 0
    for dtype, count in arrays_in(message):
        array = np.frombuffer(numbers, dtype, count, place)
        place += array.nbytes
        finite = np.isfinite(array) if dtype.name in CLOSE else np.zeros(count, bool)
        if finite.any():
            reach = 0.9 * reach_of(array[finite])
            array[finite] += reach * rng.choice([-1.0, 1.0], int(finite.sum()))
    text = json.dumps(_with_other_words(message), separators=(",", ":")).encode("ascii")
    return text + bytes(numbers), len(text)


def _with_other_words(node: Any) -> Any:
    if isinstance(node, float):
        return node + 0.9 * CLOSE["float64"] * max(1.0, abs(node))
    if isinstance(node, list):
        return [_with_other_words(item) for item in node]
    if isinstance(node, dict) and "bases" in node:
        return {**node, "message": "in words of its own", "where": ""}
    if isinstance(node, dict):
        return {key: _with_other_words(value) for key, value in node.items()}
    return node
