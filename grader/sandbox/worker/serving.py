"""Requests and their answers, one at a time."""

import builtins
import contextlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from .. import wire
from .functions import Functions
from .imports import ImportProblem, make_package_importable
from .room import Room
from .values import Objects, Watched

MAX_ITEMS = 1000
FORBIDDEN = ("reference_model", "solution", "grader", "tests")


class Worker:
    """Answers requests: calls by name, attributes and methods of held objects."""

    def __init__(self, config: dict) -> None:
        self._submission = Path(config["submission"])
        self._functions = Functions(self._submission, config["modules"], config["nonce"])
        self._objects = Objects(config["mapped"])

    def answer(self, message: dict, numbers: memoryview) -> tuple[dict, list]:
        """The reply (JSON) and its arrays."""
        if message.get("new"):  # the first request of a test
            self._objects.forget()
        out: list = []
        try:
            reply = getattr(self, f"_{message['op']}")(message, numbers, out)
        except ImportProblem as problem:
            reply = {"error": self._describe_import(problem)}
            out = []
        except BaseException as error:
            reply, out = {"error": self.describe(error)}, []
            if isinstance(error, NotImplementedError):
                reply["error"]["message"] += self._functions.cell_notes()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):
                stream.flush()
        return reply, out

    def describe(self, error: BaseException) -> dict:
        """Type, builtin bases, message and place of an exception, as JSON."""
        return described(error) | {"where": place_of(error, self._submission)}

    def _describe_import(self, problem: ImportProblem) -> dict:
        """An ImportError as facts: its words are the parent's, who knows the language."""
        return {
            **self.describe(problem.cause),
            "type": "ImportError",
            "bases": ["ImportError"],
            "message": wire.clean_text(self._functions.cell_notes()),
            "import": import_failure(problem),
        }

    def _call(self, message, numbers, out):
        return self._apply(self._functions.find(message["name"]), message, numbers, out)

    def _trust(self, message, numbers, out):
        self._functions.trust(message["sources"], message["functions"], message["replaced"])
        return {"ok": None}

    def _invoke(self, message, numbers, out):
        return self._apply(self._objects.unpack({"h": message["h"]}), message, numbers, out)

    def _method(self, message, numbers, out):
        held = self._objects.unpack({"h": message["h"]})
        return self._apply(getattr(held, message["attr"]), message, numbers, out)

    def _get(self, message, numbers, out):
        value = getattr(self._objects.unpack({"h": message["h"]}), message["attr"])
        if inspect.isroutine(value):
            return {"method": True}
        return {"ok": wire.pack(value, out, self._objects.pack)}

    def _len(self, message, numbers, out):
        return {"ok": len(self._objects.unpack({"h": message["h"]}))}

    def _item(self, message, numbers, out):
        args, _, _ = self._arguments(message, numbers)
        value = self._objects.unpack({"h": message["h"]})[args[0]]
        return {"ok": wire.pack(value, out, self._objects.pack)}

    def _apply(self, function, message, numbers, out):
        args, kwargs, received = self._arguments(message, numbers)
        watched = Watched(args, kwargs, received)
        with Room(message.get("room")) as room:
            result = function(*args, **kwargs)
        if room.was_too_small:
            return {"no_room": True}
        if isinstance(result, Iterator):  # `keys, values = map(...)` works for the student too
            result = tuple(islice(result, MAX_ITEMS))
        packed = wire.pack(result, out, self._objects.pack)
        reply = {"ok": packed, "changed": watched.changed(function)}
        return reply | {"unlimited": True} if room.is_unlimited else reply

    def _arguments(self, message, numbers):
        values = wire.Unpacker(numbers, self._objects.unpack)
        args = [values.value(node) for node in message["args"]]
        kwargs = {key: values.value(node) for key, node in message["kwargs"].items()}
        return args, kwargs, values.received


def described(error: BaseException) -> dict:
    bases = [c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c]
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    except BaseException:
        text = "(its message could not be read)"
    return {
        "type": wire.clean_text(type(error).__name__, 100),
        "bases": bases[:10],
        "message": wire.clean_text(text),
    }


def import_failure(problem: ImportProblem) -> dict:
    """What is known of why a module could not be imported."""
    error, cause = problem.cause, described(problem.cause)
    failure = {
        "kind": "raised",
        "module": problem.module,
        "file": f"{problem.module}.py",
        "line": None,
        "exception": cause["type"],
        "problem": cause["message"],
        "no_such_module": isinstance(error, ModuleNotFoundError),
    }
    if isinstance(error, SyntaxError):
        failure |= {"kind": "not_python", "problem": wire.clean_text(str(error.msg))}
        if isinstance(error.filename, str) and error.filename:
            failure["file"] = wire.clean_text(Path(error.filename).name, 100)
        if type(error.lineno) is int:  # what the submission raises itself may say anything
            failure["line"] = min(max(error.lineno, 0), 10**6)
    elif isinstance(error, SystemExit):
        failure["kind"] = "ends_program"
    return failure


def place_of(error: BaseException, submission: Path) -> str:
    """The innermost place in the submission, as "kv_cache.py:31 in decode_step"."""
    place = ""
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name.startswith("cell "):
            place = f"{name}, line {step.tb_lineno} in {step.tb_frame.f_code.co_name}"
        elif name.startswith(f"{submission}/"):
            file = name.rsplit("/", 1)[1]
            place = f"{file}:{step.tb_lineno} in {step.tb_frame.f_code.co_name}"
        step = step.tb_next
    return wire.clean_text(place, 200)


def read_exactly(fd: int, count: int, read=os.read, leave=os._exit) -> bytes:
    parts = []
    while count:
        part = read(fd, min(count, 1 << 20))
        if not part:
            leave(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_all(fd: int, data: bytes, write=os.write) -> None:
    view = memoryview(data)
    while view:
        view = view[write(fd, view) :]


def serve(worker: Worker, requests: int, replies: int, limit: int) -> None:
    # Bound here: a submission that patches json or numpy changes its own copy of a name, not these.
    build, parse, check = wire.build_frame, wire.parse_body, wire.check_header
    size, too_large, refused = wire.HEADER.size, wire.TooLarge, wire.WireError
    while True:
        header = read_exactly(requests, size)
        message_bytes, number_bytes = check(header, None, limit)
        message, numbers = parse(
            read_exactly(requests, message_bytes + number_bytes), message_bytes
        )
        reply, out = worker.answer(message, numbers)
        try:
            frame = build(header[-8:], reply, out, limit)
        except too_large as error:
            frame = build(header[-8:], {"too_large": error.size}, [], limit)
        except (refused, ValueError, TypeError) as error:
            frame = build(header[-8:], {"error": worker.describe(error)}, [], limit)
        write_all(replies, frame)


def main(config: dict) -> None:
    """Say what this process is, then serve; `config` is described in grader.sandbox.base."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    found = check_isolation()
    make_package_importable(Path(config["submission"]))
    os.environ.clear()
    hello = {"forbidden": found, "uid": os.getuid(), "python": sys.version.split()[0]}
    nonce = bytes.fromhex(config["nonce"])
    write_all(config["reply_fd"], wire.build_frame(nonce, hello, [], 1 << 20))
    serve(Worker(config), config["request_fd"], config["reply_fd"], config["frame_bytes"])


def check_isolation() -> str | None:
    """What must not be importable here but is; None when all is well."""
    for name in FORBIDDEN:
        if importlib.util.find_spec(name) is not None:
            return name
    return None
