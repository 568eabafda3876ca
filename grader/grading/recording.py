"""What the tests ask of right code and what it answers: recorded once a run, on the solution.

A test's verdict is a function of the replies it gets. So one whose recorded calls a submission
answers as the solution did has passed, as it did there, and need not run again (see ahead.py).
"As" is bit for bit, or within `CLOSE` where a rehearsal showed that the test passes either way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.results.record import TestResult
from grader.sandbox import wire

# How far a reply may be from the solution's, in units of the largest number in it, at least 1.
CLOSE = {"float64": 1e-12, "float32": 1e-6}

# What the first request of a test says besides (see grader.sandbox.remote).
NEW = b',"new":true'

Buffer = bytes | memoryview


@dataclass(frozen=True)
class RecordedCall:
    """A request, and what the solution answered to it.

    Attributes:
        frame: the request with zeros for a nonce (see grader.sandbox.wire).
        reply: a message in JSON of `message_bytes` bytes, and the numbers of its arrays.
        waits: it may follow from earlier calls, so it is sent alone, when these are answered: what
            is done to a cache or asked of a model, or what holds an earlier answer.
        is_asked: not so of most of many calls that are alike (see rehearsal.py).
    """

    frame: Buffer
    reply: Buffer
    message_bytes: int
    waits: bool = False
    is_asked: bool = True

    @property
    def message(self) -> bytes:
        return bytes(self.reply[: self.message_bytes])


@dataclass(frozen=True)
class RecordedTest:
    """The calls of one test.

    Attributes:
        turn: public cases, then tests that draw their own examples, then hidden cases: 0 to 2.
        is_exact: its replies must equal the solution's bit for bit.
        result: that of the solution: passed.
    """

    turn: int
    is_exact: bool
    calls: tuple[RecordedCall, ...]
    result: TestResult


Recording = dict[str, RecordedTest]


def agree(call: RecordedCall, reply: bytes, message_bytes: int, is_exact: bool) -> bool:
    """Whether a reply says what the solution's says."""
    if message_bytes == call.message_bytes and reply == call.reply:
        return True
    if is_exact:
        return False
    message = reply[:message_bytes]
    expected = json.loads(call.message)
    if message != call.message and not _alike(expected, _parsed(message)):
        return False
    numbers = memoryview(reply)[message_bytes:]
    wanted = memoryview(call.reply)[call.message_bytes :]
    if len(numbers) != len(wanted):
        return False
    place = 0
    for dtype, count in arrays_in(expected):
        one = np.frombuffer(wanted, dtype, count, place)
        other = np.frombuffer(numbers, dtype, count, place)
        place += one.nbytes
        if not _close(one, other):
            return False
    return True


def _parsed(message: bytes) -> Any:
    try:
        return json.loads(message)
    except (ValueError, RecursionError):
        return None


def arrays_in(node: Any) -> Iterable[tuple[np.dtype, int]]:
    """Type and size of the arrays that a message describes, in the order of their mention."""
    if isinstance(node, list):
        for item in node:
            yield from arrays_in(item)
    elif isinstance(node, dict):
        tag = next(iter(node), None)
        if len(node) == 1 and tag in ("a", "s") and isinstance(node[tag], list):
            name, *shape = node[tag]
            yield np.dtype(name), int(np.prod(shape, dtype=int))
        else:
            for value in node.values():
                yield from arrays_in(value)


def parts_of(frame: Buffer) -> tuple[dict[str, Any], bytes]:
    """The message of a request, and the numbers of its arrays."""
    message_bytes, _, _ = wire.HEADER.unpack(frame[: wire.HEADER.size])
    end = wire.HEADER.size + message_bytes
    return json.loads(bytes(frame[wire.HEADER.size : end])), bytes(frame[end:])


def without_mark(frame: Buffer) -> tuple[dict[str, Any], bytes]:
    """The parts of a request, whether or not it is the first of a test."""
    message, numbers = parts_of(frame)
    message.pop("new", None)
    return message, numbers


def objects_in(node: Any) -> list[int]:
    """The numbers of the objects that a request is about."""
    if isinstance(node, list):
        return [number for item in node for number in objects_in(item)]
    if isinstance(node, dict):
        own = [node["h"]] if type(node.get("h")) is int else []
        return own + [number for value in node.values() for number in objects_in(value)]
    return []


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.dtype.name not in CLOSE:
        return bool(np.array_equal(one, other))
    finite = np.isfinite(one)
    if not finite.all():
        if not np.array_equal(one[~finite], other[~finite], equal_nan=True):
            return False
        one, other = one[finite], other[finite]
    return not one.size or bool(np.abs(one - other).max() <= reach_of(one))


def reach_of(array: np.ndarray) -> float:
    """How far an array of floats may be from this one, all of it finite."""
    return CLOSE[array.dtype.name] * max(1.0, float(np.abs(array).max()))


def _alike(one: Any, other: Any) -> bool:
    """The same but for the last digits of floats and an exception's own words."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return one == other or abs(one - other) <= CLOSE["float64"] * max(1.0, abs(one))
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, dict):
        if "bases" in one and "bases" in other:
            return all(one[key] == other[key] for key in ("type", "bases"))
        return list(one) == list(other) and all(_alike(one[k], other[k]) for k in one)
    return bool(one == other)


# --- on disk -----------------------------------------------------------------------------------

_FRAMES, _REPLIES, _INDEX = "frames.npy", "replies.npy", "index.json"


def write_recording(recording: Recording, folder: Path) -> None:
    """Two runs of bytes, and an index that is there when all is."""
    folder.mkdir(parents=True)
    calls = [call for test in recording.values() for call in test.calls]
    for name, parts in (
        (_FRAMES, [call.frame for call in calls]),
        (_REPLIES, [call.reply for call in calls]),
    ):
        np.save(folder / name, np.frombuffer(b"".join(parts), np.uint8))
    index = {
        name: {
            "turn": test.turn,
            "is_exact": test.is_exact,
            "result": test.result.model_dump(mode="json"),
            "calls": [
                (
                    len(call.frame),
                    len(call.reply),
                    call.message_bytes,
                    call.waits,
                    call.is_asked,
                )
                for call in test.calls
            ],
        }
        for name, test in recording.items()
    }
    draft = folder / "draft"
    draft.write_text(json.dumps(index), encoding="utf-8")
    draft.replace(folder / _INDEX)


def read_recording(folder: Path) -> Recording | None:
    """What `write_recording` wrote; its bytes stay on disk until they are asked for."""
    if not (folder / _INDEX).exists():
        return None
    frames = memoryview(np.load(folder / _FRAMES, mmap_mode="r"))
    replies = memoryview(np.load(folder / _REPLIES, mmap_mode="r"))
    recording, frame_at, reply_at = {}, 0, 0
    for name, entry in json.loads((folder / _INDEX).read_text(encoding="utf-8")).items():
        calls = []
        for frame_bytes, reply_bytes, message_bytes, *marks in entry["calls"]:
            frame = frames[frame_at : frame_at + frame_bytes]
            reply = replies[reply_at : reply_at + reply_bytes]
            calls.append(RecordedCall(frame, reply, message_bytes, *marks))
            frame_at, reply_at = frame_at + frame_bytes, reply_at + reply_bytes
        result = TestResult.model_validate(entry["result"])
        recording[name] = RecordedTest(entry["turn"], entry["is_exact"], tuple(calls), result)
    return recording
