"""Asks a submission the calls that were recorded on the solution, before any test runs.

What it answers as the solution did has passed. Every other test runs as ever, on the replies that
have come, and asks the worker itself only from where it asks something else. Calls are sent ahead
of one another's replies only where they do not follow from one another (RecordedCall.waits), and
hidden tests are asked after all is said about public ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import pytest

from assignment.harness.outcome import OUTCOME, PASSED, Outcome
from assignment.harness.points import grading_of
from grader.diagnosis.lookup import test_name
from grader.results.record import TestResult
from grader.sandbox.problems import SubmissionProblem
from grader.sandbox.remote import Body, RemoteStudent, Replay

from .recording import (
    NEW,
    RecordedCall,
    RecordedTest,
    Recording,
    agree,
    objects_in,
    without_mark,
)

# What is sent ahead at most, and answered to it by the solution.
MOST_CALLS, MOST_BYTES = 64, 1 << 18
# Of all replies together; the solution's take a third. Who answers more is asked one by one.
MOST_KEPT = 64 << 20
N_TURNS = 3


class Ahead:
    """The recorded tests on one worker, and a pytest plugin that leaves out those that passed."""

    def __init__(
        self, recording: Recording, remote: RemoteStudent, wanted: Collection[str] | None = None
    ) -> None:
        self._recording = {
            name: test for name, test in recording.items() if wanted is None or name in wanted
        }
        self._remote = remote
        self._replies: dict[str, list[Body | None]] = {}
        self._told: dict[str, _Told] = {}
        self._held: set[str] = set()
        self._next_turn = 0
        self._room = MOST_KEPT

    def holds(self, test: str) -> bool:
        """Whether the submission answers a test's calls as the solution did."""
        if test in self._recording:
            self._ask_until(self._recording[test].turn)
        return test in self._held

    def holds_all(self, tests: Set[str]) -> bool:
        """Whether it holds these; no hidden test is asked where a public one is not held, and none
        at all where one was not recorded."""
        if not tests <= self._recording.keys():
            return False
        return all(map(self.holds, sorted(tests, key=lambda test: self._recording[test].turn)))

    def results(self, tests: Iterable[str]) -> list[TestResult]:
        """Those of tests that are held."""
        return [self._recording[test].result for test in tests]

    def replay_of(self, test: str) -> Replay | None:
        """The replies to a test's recorded calls, where they have come."""
        if test not in self._replies:
            return None
        told = _Told(self._recording[test].calls, self._replies[test], self._remote)
        self._told[test] = told
        return told

    def answers_as(self, earlier: Ahead, test: str) -> bool:
        """Whether a test gets the replies by which `earlier` alone it was judged."""
        judged = earlier._told.get(test)
        if judged is None or judged.is_over or test not in self._replies:
            return False
        recorded = self._recording[test]
        before = (
            replace(call, reply=reply[0], message_bytes=reply[1]) if reply else call
            for call, reply in zip(recorded.calls, judged.replies, strict=True)
        )
        return _agree(replace(recorded, calls=tuple(before)), self._replies[test])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Function, nextitem: pytest.Item | None
    ) -> bool | None:
        if not self.holds(test_name(item)):
            return None
        item.stash[OUTCOME] = self._passed(item)
        # What the tests before have set up is taken down as after any other test.
        item.ihook.pytest_runtest_teardown(item=item, nextitem=nextitem)
        return True

    def _passed(self, item: pytest.Function) -> Outcome:
        grading = grading_of(item)
        assert grading is not None  # else it would not have been recorded
        return Outcome(
            item.nodeid, grading, PASSED, self._recording[test_name(item)].result.message
        )

    def _ask_until(self, turn: int) -> None:
        while self._next_turn <= turn:
            tests = {n: t for n, t in self._recording.items() if t.turn == self._next_turn}
            self._next_turn += 1
            try:
                self._ask(tests)
            except SubmissionProblem:  # it is asked the rest as if nothing had been recorded
                self._next_turn = N_TURNS

    def _ask(self, tests: Recording) -> None:
        replies = self._bounded([call for test in tests.values() for call in test.calls])
        for name, test in tests.items():
            told = [next(replies) if call.is_asked else None for call in test.calls]
            self._replies[name] = told
            if _agree(test, told):
                self._held.add(name)

    def _bounded(self, calls: Sequence[RecordedCall]) -> Iterator[Body]:
        for body in asked(self._remote, calls):
            self._room -= len(body[0])
            if self._room < 0:
                raise SubmissionProblem
            yield body


def _agree(test: RecordedTest, replies: Sequence[Body | None]) -> bool:
    calls = zip(test.calls, replies, strict=True)
    return all(reply is None or agree(call, *reply, test.is_exact) for call, reply in calls)


def asked(remote: RemoteStudent, calls: Sequence[RecordedCall]) -> Iterator[Body]:
    """The replies to recorded calls, sent in batches in which none waits for another."""
    for batch in filter(None, _batches(call for call in calls if call.is_asked)):
        yield from remote.ask_ahead([call.frame for call in batch])


def _batches(calls: Iterable[RecordedCall]) -> Iterator[list[RecordedCall]]:
    """A call that waits is sent alone: while it is answered, nothing else is to be read."""
    batch: list[RecordedCall] = []
    size = 0
    for call in calls:
        of_call = len(call.frame) + len(call.reply)
        if call.waits or len(batch) == MOST_CALLS or size + of_call > MOST_BYTES:
            yield batch
            batch, size = [], 0
        if call.waits:
            yield [call]
            continue
        batch.append(call)
        size += of_call
    yield batch


@dataclass
class _Told:
    """Answers a test's calls as they were answered before, until it asks something else.

    Attributes:
        at: how many of the recorded calls the test has come to.
        is_over: the worker itself is asked by now.
    """

    calls: Sequence[RecordedCall]
    replies: Sequence[Body | None]
    remote: RemoteStudent
    at: int = 0
    is_over: bool = False

    def __call__(self, frame: bytes) -> Body | None:
        if self.is_over:
            return None
        place = self._place_of(frame)
        if place is not None and (reply := self.replies[place]) is not None:
            self.at = place + 1
            return reply
        self.is_over = True
        # The worker has gone on to other tests since: it is brought to where this one is.
        for _ in asked(self.remote, self.calls[: self.at]):
            pass
        return None

    def _place_of(self, frame: bytes) -> int | None:
        """The next call, or an earlier one from which a property repeats its failing example."""
        if self.at < len(self.calls) and frame == self.calls[self.at].frame:
            return self.at
        wanted = without_mark(frame)
        if objects_in(wanted[0]):  # what is asked of an object hangs on all that was before
            return None
        earlier = (
            place
            for place in reversed(range(self.at))
            if len(self.calls[place].frame) - len(frame) in (0, len(NEW))
            and without_mark(self.calls[place].frame) == wanted
        )
        return next(earlier, None)
