"""The tests in a process of their own, which starts warm where processes can fork.

A server imports what tests need and never a student's file; for each run it forks. What it says is
a line of JSON each. Without fork each run starts afresh, which takes a second or two more.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

from ..parts import PARTS
from ..words import tr

FOLDER = Path(__file__).parents[2]
PACKAGE = FOLDER.name
HAS_FORK = hasattr(os, "fork")
Event = dict[str, Any]

# One thread each: the matrices are small, and threads do not survive a fork.
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "PYTHONUTF8": "1",
    # Two saves of one size within one second look the same to what is compiled.
    "PYTHONDONTWRITEBYTECODE": "1",
}


# ---------------------------------------------------------------------- in the process of the tests


class _Sender:
    """A pytest plugin that says which tests there are and what became of each."""

    def __init__(self, run: int, out: TextIO) -> None:
        self._run, self._out = run, out

    def say(self, **event: object) -> None:
        self._out.write(json.dumps({"run": self._run, **event}) + "\n")
        self._out.flush()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.say(kind="tests", tests=[item.nodeid for item in session.items])

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome = getattr(report, "homework_outcome", None)
        if outcome is not None and report.when != "teardown":
            self.say(kind="outcome", outcome=outcome)


def _arguments(files: Sequence[str], *more: str) -> list[str]:
    paths = [str(FOLDER / name) for name in files]
    options = ["-p", "no:cacheprovider", "-o", "addopts=", f"--rootdir={FOLDER.parent}", *more]
    return [*paths, *options]


def _run_tests(order: Event, out: TextIO) -> None:
    """Run pytest; nothing that is printed goes anywhere."""
    sender = _Sender(order["run"], out)
    os.environ.pop("PYTEST_ADDOPTS", None)
    with _nothing_printed():
        code = pytest.main(_arguments(order["files"], "--lang", order["lang"]), plugins=[sender])
    sender.say(kind="code", code=int(code))


@contextlib.contextmanager
def _nothing_printed() -> Any:
    """Neither by Python nor by what lies under it."""
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        sys.stdout.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)
        os.close(nowhere)


def _warm_up() -> None:
    """Import all that a run imports before it comes to a student's file."""
    with _nothing_printed():
        pytest.main(_arguments([_file_of(part.number) for part in PARTS], "--collect-only", "-q"))
    ours = (f"{PACKAGE}.harness", f"{PACKAGE}.test_", f"{PACKAGE}.conftest")
    for name in list(sys.modules):
        if name.startswith(f"{PACKAGE}.") and not name.startswith(ours):
            del sys.modules[name]


def serve() -> None:
    """Fork a run for each line that comes in, until none comes any more."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _warm_up()
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()  # what a student's code starts can be ended with it
            os.close(reading)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            with os.fdopen(writing, "w", encoding="utf-8") as results:
                _run_tests(order, results)
            os._exit(0)
        os.close(writing)
        _say(out, run=order["run"], kind="started", process=child)
        with os.fdopen(reading, encoding="utf-8", errors="replace") as results:
            for said in results:
                if said.endswith("\n"):  # the last of a run that was ended may be half
                    out.write(said)
                    out.flush()
        os.waitpid(child, 0)
        _say(out, run=order["run"], kind="ended")


def _say(out: TextIO, **event: object) -> None:
    out.write(json.dumps(event) + "\n")
    out.flush()


def run_once(order: Event) -> None:
    """A run in this process."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        _run_tests(order, out)
        _say(out, run=order["run"], kind="ended")


# ----------------------------------------------------------------------------- in the one that asks


class Runs:
    """Starts runs, one at a time, and hands on what they say.

    Args:
        tell: called from a thread with each event of the run that was started last.

    Attributes:
        number: of that run.
    """

    def __init__(self, tell: Callable[[Event], None], language: str) -> None:
        self._tell, self._language = tell, language
        self.number = 0
        self._server: subprocess.Popen | None = None
        self._child = 0
        if HAS_FORK:
            self._server = self._process()

    def start(self, parts: Sequence[int]) -> None:
        """Run the tests of these parts; a run that has not ended yet is ended."""
        self.stop()
        self.number += 1
        files = [_file_of(number) for number in parts]
        order = {"run": self.number, "files": files, "lang": self._language}
        if not HAS_FORK:
            self._server = self._process(json.dumps(order))
            return
        if self._server is None or self._server.poll() is not None:
            self._server = self._process()
        with contextlib.suppress(OSError):  # it has ended: its last event says so
            self._server.stdin.write(json.dumps(order) + "\n")  # type: ignore[union-attr]
            self._server.stdin.flush()  # type: ignore[union-attr]

    def stop(self) -> None:
        """End the run, if one is under way."""
        if not HAS_FORK and self._server is not None:
            self._server.kill()
        self._child = _end(self._child)

    def close(self) -> None:
        """End everything."""
        self.stop()
        server, self._server = self._server, None
        if server is not None:
            server.kill()
            server.wait()

    def _process(self, *arguments: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, *arguments],
            cwd=FOLDER.parent,
            env=os.environ | _ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the one who asks
        )
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()
        return process

    def _listen(self, process: subprocess.Popen) -> None:
        for line in process.stdout or ():
            try:
                event = json.loads(line)
            except ValueError:  # of a run that was ended
                continue
            is_wanted = event["run"] == self.number
            if event["kind"] == "started":
                self._child = event["process"] if is_wanted else _end(event["process"])
            elif is_wanted:
                self._child = 0 if event["kind"] == "ended" else self._child
                self._tell(event)
        if HAS_FORK and process is self._server:
            self._tell({"run": self.number, "kind": "broken", "why": _why(process)})


def _end(child: int) -> int:
    """End a process and what it has started; 0, as there is none any more."""
    if child:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
    return 0


def _why(process: subprocess.Popen) -> str:
    lines = process.stderr.read().strip().splitlines() if process.stderr else []
    return lines[-1] if lines else tr("the process that runs the tests has ended")


def _file_of(part: int) -> str:
    """A part's test file; the pattern is one that finds nothing where it is gone."""
    return next((p.name for p in FOLDER.glob(f"test_part{part}_*.py")), f"test_part{part}_.py")


if __name__ == "__main__":
    run_once(json.loads(sys.argv[1])) if sys.argv[1:] else serve()
