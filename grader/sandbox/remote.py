"""The submission as an object: every function call crosses a pipe into a sandboxed worker.

Nothing here trusts what comes back. A reply is bounded in size and time, must carry the nonce of
the open request, and becomes plain values made on this side.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from grader.base.words import tr
from grader.sandbox import Limits, wire
from grader.sandbox.channel import Channel, Frame, Output, TrustedParts, connect, opened
from grader.sandbox.clock import OwnTime
from grader.sandbox.objects import Mapped, RemoteObject
from grader.sandbox.problems import (
    BudgetExhausted,
    OutOfRoom,
    OutputTooLarge,
    ProtocolViolation,
    SubmissionProblem,
    WorkerDied,
    WorkerTimeout,
    student_exception,
)

MAX_STRIKES = 2
MAX_STRIKES_IN_ALL = 6
# What all requests that are sent ahead may take: three times what is slow in right code.
AHEAD_SECONDS = 20.0
EVERYTHING = ""

# A reply to a frame as it came: its bytes and how many of them are its message.
Body = tuple[bytes, int]
# What a test was answered before, to be told again; None to what it did not ask then.
Replay = Callable[[bytes], Body | None]
Tap = Callable[[bytes, Body], None]


class RemoteStudent:
    """A submission's functions: `student.softmax(x)`, `student.KVCache(...)`.

    A call raises what the submission raised (as a builtin exception where its class is one, else as
    StudentException), or a SubmissionProblem when the submission hung, died or broke the protocol.
    One student serves one thread, and the worker lives no longer than the thread that started it.
    `last_call_mutated` names the array arguments that the last call changed; the worker itself says
    so, and it says so honestly only for honest submissions.
    With `trusted` parts the submission can read those functions: show nothing of what it says then.
    """

    def __init__(
        self,
        sandbox,
        submission: Path,
        limits: Limits | None = None,
        slot: int = 0,
        mapped: dict[str, Path] | None = None,
        modules: dict[str, str] | None = None,
        trusted: TrustedParts | None = None,
        max_strikes: int = MAX_STRIKES_IN_ALL,
    ):
        self._sandbox = sandbox
        self._submission = Path(submission)
        self._limits = limits or Limits()
        self._slot = slot
        self._mapped = dict(mapped or {})
        self._modules = modules if modules is not None else default_modules()
        self._trusted = trusted
        self._max_strikes = max_strikes
        self._output = Output(self._limits.output_kib * 1024)
        self._channel: Channel | None = None
        self._generation = 0
        self._problem: SubmissionProblem | None = None
        self._given_up: dict[str, SubmissionProblem] = {}
        self._strikes: Counter[str] = Counter()
        self._spent = 0.0
        self._spent_ahead = 0.0
        self._allowed = self._limits.total_seconds
        self._is_first_of_test = True
        self._replay: Replay | None = None
        self.tap: Tap | None = None
        self.last_call_mutated: list[str] = []
        self.last_call_unlimited = False
        self.tier: str = sandbox.tier

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._modules:
            raise AttributeError(f"the submission's interface has no {name}")
        return lambda *args, **kwargs: self._call(name, args, kwargs)

    def mapped_params(self, name: str) -> Mapped:
        """The arrays of the file mapped as `name`, to be passed as a function's `params`."""
        if name not in self._mapped:
            raise KeyError(f'no file is mapped as "{name}"; there are: {sorted(self._mapped)}')
        return Mapped(name)

    def call_within(self, name: str, args: list, room: int) -> Any:
        """A call while which the worker's address space may grow by `room` bytes.

        `last_call_unlimited` says whether no such limit could be set.

        Raises:
            OutOfRoom: that was not enough.
        """
        return self._ask(name, {"op": "call", "name": name, "room": room}, tuple(args), {})

    def begin_test(self, share: float = 1.0, replay: Replay | None = None) -> None:
        """Forget problem and objects of the test before; a worker starts if none is left.

        Until the next test no more than this share of the submission's time is used up, and calls
        are answered by `replay` as long as it has answers.
        """
        self._problem = None
        self._allowed = share * self._limits.total_seconds
        self._generation += 1
        self._is_first_of_test = True
        self._replay = replay
        self.last_call_mutated = []

    def ask_ahead(self, frames: Sequence[Frame]) -> list[Body]:
        """The replies to some recorded requests that do not follow from one another.

        They may take as long as one call, and are not charged for: who does not answer them so
        quickly is asked again, one at a time.

        Raises:
            SubmissionProblem: no answer came, and the worker is stopped.
        """
        channel = self._channel or self._start()
        seconds = self._limits.call_seconds
        left = AHEAD_SECONDS - self._spent_ahead
        patience = OwnTime(channel.clock, seconds, seconds, left)
        try:
            return channel.ask_ahead(frames, patience)
        except SubmissionProblem:
            self._stop()
            raise
        finally:
            self._spent_ahead += channel.clock.end()

    def output_tail(self, count: int = 4000) -> str:
        """The last `count` characters of what was kept of the submission's prints."""
        if self._channel is not None:
            self._channel.drain()
        return self._output.tail(count)

    @property
    def seconds_used(self) -> float:
        """The submission's own time so far: what its calls computed and slept."""
        return self._spent

    @property
    def pid(self) -> int | None:
        """The worker's process as this machine numbers it; None while there is no worker."""
        return None if self._channel is None else self._channel.worker.process.pid

    def close(self) -> None:
        self._stop()

    def __enter__(self) -> "RemoteStudent":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- requests --------------------------------------------------------------------------------

    def _call(self, name: str, args: tuple, kwargs: dict) -> Any:
        return self._ask(name, {"op": "call", "name": name}, args, kwargs)

    def _method(self, target: RemoteObject, name: str, args: tuple, kwargs: dict) -> Any:
        label = f"{target._type_name}.{name}"
        result = self._ask(label, self._about(target, "method", attr=name), args, kwargs)
        if self.last_call_mutated:
            changed = self.last_call_mutated[0]
            raise AssertionError(tr("{call} changed its input {name}", call=label, name=changed))
        return result

    def _invoke(self, target: RemoteObject, args: tuple, kwargs: dict) -> Any:
        return self._ask(target._type_name, self._about(target, "invoke"), args, kwargs)

    def _get(self, target: RemoteObject, name: str) -> tuple[bool, Any]:
        """(True, None) for a method, (False, value) for any other attribute."""
        label = f"{target._type_name}.{name}"
        value = self._ask(label, self._about(target, "get", attr=name), (), {})
        return value is IS_METHOD, value

    def _length(self, target: RemoteObject) -> int:
        value = self._ask(f"len({target._type_name})", self._about(target, "len"), (), {})
        if type(value) is not int or value < 0:
            raise TypeError(f"len() of the submission's {target._type_name} is not a size")
        return value

    def _item(self, target: RemoteObject, key: Any) -> Any:
        return self._ask(f"{target._type_name}[...]", self._about(target, "item"), (key,), {})

    def _about(self, target: RemoteObject, op: str, **more: str) -> dict:
        if target._generation != self._generation:
            raise self._problem or WorkerDied(
                tr("the worker that held this {kind} was stopped", kind=target._type_name)
            )
        return {"op": op, "h": target._number, **more}

    def _ask(self, label: str, message: dict, args: tuple, kwargs: dict) -> Any:
        """One round trip; problems get the function's name, are counted, and stop the worker."""
        self._raise_known_problem(label)
        arrays: list[np.ndarray] = []
        message["args"] = [wire.pack(a, arrays, self._pack) for a in args]
        message["kwargs"] = {k: wire.pack(v, arrays, self._pack) for k, v in kwargs.items()}
        self.last_call_mutated = []
        try:
            reply, numbers = self._exchange(label, message, arrays)
            return self._result(message["op"], reply, numbers)
        except wire.WireError as error:
            problem = ProtocolViolation(f"{label} returned what cannot be read: {error}")
            raise self._record(label, problem) from None
        except OutputTooLarge as problem:
            raise type(problem)(f"{label} {problem}") from None
        except SubmissionProblem as problem:
            raise self._record(label, problem) from None

    def _exchange(self, label: str, message: dict, arrays: list) -> tuple[Any, memoryview]:
        """The reply: recorded, or the worker's."""
        if self._is_first_of_test:  # the worker forgets the objects of the test before
            message["new"], self._is_first_of_test = True, False
        try:
            frame = wire.build_frame(bytes(8), message, arrays, self._limits.frame_bytes)
        except wire.TooLarge as error:
            raise ValueError(f"the arguments of {label} are too large: {error}") from None
        body = self._replay(frame) if self._replay is not None else None
        if body is None:
            body = self._timed_ask(label, frame)
        if self.tap is not None:
            self.tap(frame, body)
        return self._opened(label, body)

    def _opened(self, label: str, body: Body) -> tuple[Any, memoryview]:
        try:
            return opened(*body)
        except ProtocolViolation as problem:
            raise ProtocolViolation(f"{label}: the program {problem}") from None

    def _timed_ask(self, label: str, frame: bytes) -> Body:
        channel = self._channel or self._start()
        left = self._allowed - self._spent
        patience = OwnTime(
            channel.clock, self._limits.call_seconds, self._limits.idle_seconds, left
        )
        try:
            return channel.ask(frame, patience)
        except WorkerTimeout:
            raise self._overtime(label, patience) from None
        except WorkerDied as problem:
            raise WorkerDied(
                tr("{call} ended the program: {how}", call=label, how=problem)
            ) from None
        except ProtocolViolation as problem:
            raise ProtocolViolation(f"{label}: the program {problem}") from None
        finally:
            self._spent += channel.clock.end()

    def _raise_known_problem(self, label: str) -> None:
        known = self._problem or self._given_up.get(label) or self._given_up.get(EVERYTHING)
        if known is not None:
            raise type(known)(*known.args)
        if self._spent >= self._allowed:
            raise self._exhausted()

    def _overtime(self, label: str, patience: OwnTime) -> SubmissionProblem:
        if patience.is_in_all_over:
            return self._exhausted()
        if patience.is_sleep_over:
            n = self._limits.idle_seconds
            words = tr("{call} did not return within {n:.3g} s of sleep (stopped)", call=label, n=n)
        else:
            n = self._limits.call_seconds
            words = tr(
                "{call} did not return within {n:.3g} s of processor time (stopped)",
                call=label,
                n=n,
            )
        return WorkerTimeout(words)

    def _exhausted(self) -> BudgetExhausted:
        n = self._allowed
        if n < self._limits.total_seconds:
            words = tr("the submission has used its {n:g} s for public tests (stopped)", n=n)
        else:
            words = tr("the submission has used its {n:g} s for all calls (stopped)", n=n)
        return BudgetExhausted(words)

    def _record(self, label: str, problem: SubmissionProblem) -> SubmissionProblem:
        self._stop()
        self._problem = problem
        self._strikes[label] += 1
        if self._strikes[label] >= MAX_STRIKES:
            self._given_up[label] = problem
        if self._strikes.total() >= self._max_strikes:
            # One slow function under many names would use up the time of a whole class.
            words = tr("no more calls are made, for {problem}", problem=problem)
            self._given_up[EVERYTHING] = type(problem)(words)
        return problem

    # --- values ----------------------------------------------------------------------------------

    def _pack(self, value: Any) -> Any:
        if isinstance(value, RemoteObject):
            self._about(value, "")
            return {"h": value._number}
        if isinstance(value, Mapped):
            return {"m": value.name}
        raise TypeError(f"a {type(value).__name__} cannot be passed to a submission")

    def _unpack(self, node: dict) -> RemoteObject:
        content = node.get("h")
        if type(content) is not list or len(content) != 3:
            raise wire.WireError("a tagged value was expected")
        number, type_name, _ = content
        if type(number) is not int or type(type_name) is not str:
            raise wire.WireError("a handle was expected")
        type_name = type_name[:100] if type_name.isidentifier() else "object"
        return RemoteObject(self, self._generation, number, type_name)

    def _result(self, op: str, reply: Any, numbers: memoryview) -> Any:
        if type(reply) is not dict:
            raise wire.WireError("a reply was expected")
        if "ok" in reply:
            self.last_call_mutated = _texts(reply.get("changed", []))
            self.last_call_unlimited = reply.get("unlimited") is True
            return wire.Unpacker(numbers, self._unpack).value(reply["ok"])
        if reply.get("no_room") is True:
            raise OutOfRoom
        if op == "get" and reply.get("method") is True:
            return IS_METHOD
        if type(reply.get("too_large")) is int:
            raise OutputTooLarge(
                tr(
                    "returned {n} MiB or more than {values} values; at most {most} MiB can be "
                    "returned",
                    n=reply["too_large"] >> 20,
                    values=wire.MAX_VALUES,
                    most=self._limits.frame_mib,
                )
            )
        raise student_exception(reply.get("error"))

    # --- the worker ------------------------------------------------------------------------------

    def _start(self) -> Channel:
        where = (self._submission, self._limits, self._slot, self._modules, self._mapped)
        self._channel = connect(
            lambda: self._sandbox.launch(*where), self._limits, self._output, self._trusted
        )
        return self._channel

    def _stop(self) -> None:
        if self._channel is None:
            return
        self._channel.close()
        self._channel = None
        self._generation += 1


IS_METHOD = object()


def default_modules() -> dict[str, str]:
    """The assignment's table of function names and their modules."""
    from assignment.harness.parts import MODULE_OF

    return dict(MODULE_OF)


def _texts(values: Any) -> list[str]:
    if type(values) is not list or not all(type(v) is str for v in values):
        raise wire.WireError("a list of names was expected")
    return [wire.clean_text(v, 200) for v in values[:50]]
