"""The submission as an object: every function call crosses a pipe into a sandboxed worker.

Nothing here trusts what comes back. A reply is bounded in size and time, must carry the nonce of
the open request, and becomes plain values made on this side.
"""

import builtins
import os
import secrets
import select
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assignment.harness.student import ImportFailure, import_error
from grader.base.words import tr
from grader.sandbox import Limits, SandboxUnavailable, WorkerProcess, wire
from grader.sandbox.wire import UnsupportedArray

__all__ = [
    "BudgetExhausted",
    "Limits",
    "OutOfRoom",
    "OutputTooLarge",
    "ProtocolViolation",
    "RemoteObject",
    "RemoteStudent",
    "StudentException",
    "SubmissionProblem",
    "TrustedParts",
    "UnsupportedArray",
    "WorkerDied",
    "WorkerTimeout",
]

MAX_STRIKES = 2
MAX_STRIKES_IN_ALL = 6
EVERYTHING = ""
CHUNK = 1 << 20
MAX_LINE = 10**6  # of a file, which is far smaller than that


@dataclass(frozen=True)
class TrustedParts:
    """Functions that take the place of a submission's, of parts that are not under test.

    Attributes:
        sources: the text of each trusted module; a name that is None in it means the student's.
        functions: the names that are exchanged.
        replaced: modules that become the trusted one where the student's does not run.
    """

    sources: dict[str, str]
    functions: tuple[str, ...]
    replaced: tuple[str, ...]


class SubmissionProblem(Exception):
    """The submission, not its answer, is at fault: it hung, died or broke the protocol."""


class WorkerTimeout(SubmissionProblem):
    """A call did not come back in time."""


class WorkerDied(SubmissionProblem):
    """The worker process ended during or between calls."""


class ProtocolViolation(SubmissionProblem):
    """Bytes came that are not the answer to the open request."""


class OutputTooLarge(SubmissionProblem):
    """A function returned more than one frame may carry."""


class BudgetExhausted(SubmissionProblem):
    """The submission has used the time it was given for all its calls together."""


class OutOfRoom(Exception):
    """A call needed more memory than it was given room for."""


class StudentException(Exception):
    """An exception of a class that only the submission has; `type_name` is that class's name."""

    student_where: str = ""

    def __init__(self, type_name: str, message: str = ""):
        super().__init__(f"{type_name}: {message}" if message else type_name)
        self.type_name = type_name


class Channel:
    """Sends one request and reads its reply, within a deadline, keeping the worker's prints."""

    def __init__(self, worker: WorkerProcess, limits: Limits, output: "Output"):
        self._worker = worker
        self._limits = limits
        self._output = output
        self._poll = select.poll()
        self._poll.register(worker.reply_fd, select.POLLIN)
        self._poll.register(worker.output_fd, select.POLLIN)
        self._output_open = True

    def exchange(self, message: dict, arrays: list, deadline: float):
        """(reply, numbers). Raises a SubmissionProblem without a function name in it."""
        nonce = secrets.token_bytes(8)
        frame = wire.build_frame(nonce, message, arrays, self._limits.frame_bytes)
        self._refuse_early_bytes()
        self._send(frame, deadline)
        return self.receive(nonce, deadline)

    def receive(self, nonce: bytes, deadline: float):
        """The frame that carries `nonce`."""
        try:
            header = self._read(wire.HEADER.size, deadline)
            sizes = wire.check_header(header, nonce, self._limits.frame_bytes)
            body = self._read(sum(sizes), deadline)
            return wire.parse_body(body, sizes[0])
        except wire.WireError as error:
            raise ProtocolViolation(f"sent something that is not a reply: {error}") from None

    def drain(self) -> None:
        """Take what was printed and is still in the pipe."""
        while self._output_open and self._take_output():
            pass

    def _refuse_early_bytes(self) -> None:
        for fd, event in self._poll.poll(0):
            if fd == self._worker.output_fd:
                self._take_output()
            elif event & select.POLLIN:
                raise ProtocolViolation("sent data before it was asked for anything")
            else:
                self._died()

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(frame)
        while True:
            try:
                rest = rest[os.write(self._worker.request_fd, rest) :]
            except BlockingIOError:
                self._wait_writable(deadline)
            except BrokenPipeError:
                self._died()
            if not rest:
                return

    def _wait_writable(self, deadline: float) -> None:
        self._poll.register(self._worker.request_fd, select.POLLOUT)
        try:
            for fd, event in self._wait(deadline):
                if fd == self._worker.output_fd:
                    self._take_output()
                elif fd == self._worker.reply_fd:
                    if event & select.POLLIN:
                        raise ProtocolViolation("answered before it had read the whole question")
                    self._died()
        finally:
            self._poll.unregister(self._worker.request_fd)

    def _read(self, count: int, deadline: float) -> bytes:
        parts = []
        while count:
            try:
                part = os.read(self._worker.reply_fd, min(count, CHUNK))
            except BlockingIOError:
                self._wait_readable(deadline)
                continue
            if not part:
                self._died()
            parts.append(part)
            count -= len(part)
            if count and time.monotonic() > deadline:
                raise WorkerTimeout
        return b"".join(parts)

    def _wait_readable(self, deadline: float) -> None:
        ready = [fd for fd, _ in self._wait(deadline)]
        if self._worker.output_fd in ready:
            self._take_output()

    def _wait(self, deadline: float):
        left = deadline - time.monotonic()
        ready = self._poll.poll(left * 1000) if left > 0 else []
        if not ready:
            raise WorkerTimeout
        return ready

    def _take_output(self) -> bool:
        try:
            part = os.read(self._worker.output_fd, CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self._poll.unregister(self._worker.output_fd)
            self._output_open = False
            return False
        self._output.add(part)
        return True

    def _died(self) -> None:
        how = self._worker.exit_reason()
        raise WorkerDied(how or tr("the process closed its side of the pipe"))


class Output:
    """What a submission printed: the first `limit` bytes, and a count of the others."""

    def __init__(self, limit: int):
        self._limit = limit
        self._kept = bytearray()
        self._dropped = 0

    def add(self, part: bytes) -> None:
        room = self._limit - len(self._kept)
        self._kept += part[:room]
        self._dropped += max(0, len(part) - room)

    def tail(self, count: int) -> str:
        text = self._kept.decode("utf-8", "replace")[-count:]
        return text + (f"\n[{self._dropped} more bytes not kept]" if self._dropped else "")


class RemoteObject:
    """An object that stays in the worker; attributes and methods are asked for by name."""

    def __init__(self, student: "RemoteStudent", generation: int, number: int, type_name: str):
        self._student = student
        self._generation = generation
        self._number = number
        self._type_name = type_name
        self._methods: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        # Python, numpy and pytest ask any object for such names; a submission's answer is unwanted.
        if name.startswith("__"):
            raise AttributeError(f"{self._type_name} has no attribute {name} here")
        if name not in self._methods:
            known, value = self._student._get(self, name)
            if not known:
                return value
            self._methods.add(name)
        return lambda *args, **kwargs: self._student._method(self, name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._student._invoke(self, args, kwargs)

    def __len__(self) -> int:
        return self._student._length(self)

    def __getitem__(self, key: Any) -> Any:
        return self._student._item(self, key)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false; ask for one of its attributes")

    # Without it a for loop would ask for items until an IndexError of the submission's making.
    __iter__ = None

    def __repr__(self) -> str:
        return f"<{self._type_name} of the submission>"

    def described(self) -> str:
        """For messages to students (see assignment.harness.compare)."""
        return tr("something of type {name}", name=self._type_name)

    def __del__(self) -> None:
        self._student._release(self)


class Mapped:
    """Stands for the read-only arrays of a file that was mapped into the sandbox."""

    def __init__(self, name: str):
        self.name = name


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
        self._worker: WorkerProcess | None = None
        self._channel: Channel | None = None
        self._generation = 0
        self._problem: SubmissionProblem | None = None
        self._given_up: dict[str, SubmissionProblem] = {}
        self._strikes: Counter[str] = Counter()
        self._spent = 0.0
        self._allowed = self._limits.total_seconds
        self._free: list[int] = []
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

    def begin_test(self, nodeid: str, share: float = 1.0) -> None:
        """Forget the problem of the test before; the next call starts a worker if none is left.

        Until the next test no more than this share of the submission's time is used up.
        """
        self._problem = None
        self._allowed = share * self._limits.total_seconds
        self.last_call_mutated = []

    def output_tail(self, count: int = 4000) -> str:
        """The last `count` characters of what was kept of the submission's prints."""
        if self._channel is not None:
            self._channel.drain()
        return self._output.tail(count)

    @property
    def seconds_used(self) -> float:
        """Wall time spent waiting for this submission so far."""
        return self._spent

    @property
    def pid(self) -> int | None:
        """The worker's process as this machine numbers it; None while there is no worker."""
        return None if self._worker is None else self._worker.process.pid

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
        if target._generation != self._generation or self._worker is None:
            raise self._problem or WorkerDied(
                tr("the worker that held this {kind} was stopped", kind=target._type_name)
            )
        return {"op": op, "h": target._number, **more}

    def _release(self, target: RemoteObject) -> None:
        if target._generation == self._generation:
            self._free.append(target._number)

    def _ask(self, label: str, message: dict, args: tuple, kwargs: dict) -> Any:
        """One round trip; problems get the function's name, are counted, and stop the worker."""
        self._raise_known_problem(label)
        arrays: list[np.ndarray] = []
        message["args"] = [wire.pack(a, arrays, self._pack) for a in args]
        message["kwargs"] = {k: wire.pack(v, arrays, self._pack) for k, v in kwargs.items()}
        self.last_call_mutated = []
        try:
            reply, numbers = self._timed_exchange(label, message, arrays)
            return self._result(message["op"], reply, numbers)
        except wire.WireError as error:
            problem = ProtocolViolation(f"{label} returned what cannot be read: {error}")
            raise self._record(label, problem) from None
        except OutputTooLarge as problem:
            raise type(problem)(f"{label} {problem}") from None
        except SubmissionProblem as problem:
            raise self._record(label, problem) from None

    def _timed_exchange(self, label: str, message: dict, arrays: list):
        channel = self._channel or self._start()
        message["free"], self._free = self._free, []
        left = self._allowed - self._spent
        seconds = min(self._limits.call_seconds, left)
        started = time.monotonic()
        try:
            return channel.exchange(message, arrays, started + seconds)
        except wire.TooLarge as error:
            raise ValueError(f"the arguments of {label} are too large: {error}") from None
        except WorkerTimeout:
            if seconds == left:
                raise self._exhausted() from None
            raise WorkerTimeout(
                tr("{call} did not return within {n:.3g} s (stopped)", call=label, n=seconds)
            ) from None
        except WorkerDied as problem:
            raise WorkerDied(
                tr("{call} ended the program: {how}", call=label, how=problem)
            ) from None
        except ProtocolViolation as problem:
            raise ProtocolViolation(f"{label}: the program {problem}") from None
        finally:
            self._spent += time.monotonic() - started

    def _raise_known_problem(self, label: str) -> None:
        known = self._problem or self._given_up.get(label) or self._given_up.get(EVERYTHING)
        if known is not None:
            raise type(known)(*known.args)
        if self._spent >= self._allowed:
            raise self._exhausted()

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
        """Start a worker and check what it says of itself. No code of the submission runs yet."""
        started = time.monotonic()
        worker = self._sandbox.launch(
            self._submission, self._limits, self._slot, self._modules, self._mapped
        )
        channel = Channel(worker, self._limits, self._output)
        try:
            deadline = started + self._limits.start_seconds
            hello, _ = channel.receive(worker.nonce, deadline)
            if self._trusted is not None:
                self._hand_over(self._trusted, channel, deadline)
        except SubmissionProblem as problem:
            channel.drain()
            worker.close()
            said = self._output.tail(300).strip()
            raise SandboxUnavailable(f"a worker could not start: {problem} {said}") from None
        if hello["forbidden"] is not None:
            worker.close()
            raise SandboxUnavailable(
                f"a submission could import {hello['forbidden']} here; grade from an environment "
                "where it is not installed beside numpy"
            )
        self._worker, self._channel = worker, channel
        self._generation += 1
        self._free = []
        return channel

    def _hand_over(self, trusted: TrustedParts, channel: Channel, deadline: float) -> None:
        """Give the worker trusted functions before it runs anything of the submission."""
        request = {"op": "trust", "free": [], **asdict(trusted)}
        reply, _ = channel.exchange(request, [], deadline)
        if "error" in reply:
            error = reply["error"]
            raise SubmissionProblem(
                f"the trusted functions could not be loaded ({error['type']}: {error['message']})"
            )

    def _stop(self) -> None:
        if self._worker is None or self._channel is None:
            return
        self._worker.kill()
        self._channel.drain()
        self._worker.close()
        self._worker = self._channel = None
        self._generation += 1


IS_METHOD = object()


def default_modules() -> dict[str, str]:
    """The assignment's table of function names and their modules."""
    from assignment.harness.parts import MODULE_OF

    return dict(MODULE_OF)


def student_exception(report: Any) -> Exception:
    """The exception that a worker's report describes, harmless to raise on this side."""
    if type(report) is not dict:
        raise wire.WireError("an error report was expected")
    name, message, where, bases = (report.get(k) for k in ("type", "message", "where", "bases"))
    if type(name) is not str or type(message) is not str or type(where) is not str:
        raise wire.WireError("an error report was expected")
    if type(bases) is not list:
        raise wire.WireError("an error report was expected")
    name, message = wire.clean_text(name, 100), wire.clean_text(message)
    error: Exception
    if "import" in report:
        error = _import_error(report["import"], message)
    else:
        error = _builtin_exception(name, message) or _own_exception(name, message, bases)
    error.student_where = wire.clean_text(where, 200)  # type: ignore[attr-defined]
    return error


def _import_error(report: Any, notes: str) -> ImportError:
    """The ImportError of a file that could not be imported; `notes` stand behind its words."""
    if type(report) is not dict:
        raise wire.WireError("a report of an import was expected")
    kind, line = report.get("kind"), report.get("line")
    texts: list[Any] = [report.get(name) for name in ("module", "file", "exception", "problem")]
    if kind not in ("not_python", "ends_program", "raised"):
        raise wire.WireError("a kind of import failure was expected")
    if not all(type(text) is str for text in texts) or type(line) not in (int, type(None)):
        raise wire.WireError("a report of an import was expected")
    module, file, exception = (wire.clean_text(text, 100) for text in texts[:3])
    line = None if line is None else min(max(line, 0), MAX_LINE)
    failure = ImportFailure(kind, module, file, line, exception, wire.clean_text(texts[3]))
    words = failure.in_words()
    if report.get("no_such_module") is True and kind == "raised":
        words += tr("; only numpy and the standard library are installed here")
    return import_error(failure, wire.clean_text(words + notes))


def _builtin_class(name: Any) -> type[Exception] | None:
    found = getattr(builtins, name, None) if type(name) is str else None
    plain = isinstance(found, type) and issubclass(found, Exception)
    return found if plain and found is not StopIteration else None


def _builtin_exception(name: str, message: str) -> Exception | None:
    found = _builtin_class(name)
    try:
        return found(message) if found else None
    except TypeError:  # UnicodeDecodeError and a few others want more than a text
        return None


def _own_exception(name: str, message: str, bases: list) -> Exception:
    """A StudentException that is also what its class builds on, as AxisError is a ValueError."""
    for base in bases[:10]:
        kind = _builtin_class(base)
        if kind not in (None, Exception) and name.isidentifier():
            try:
                return type(name, (StudentException, kind), {})(name, message)
            except (TypeError, ValueError):  # an ExceptionGroup wants exceptions, not a text
                break
    return StudentException(name, message)


def _texts(values: Any) -> list[str]:
    if type(values) is not list or not all(type(v) is str for v in values):
        raise wire.WireError("a list of names was expected")
    return [wire.clean_text(v, 200) for v in values[:50]]
