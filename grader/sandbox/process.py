"""A running worker as the grader sees it: three pipes and something to kill."""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.base.words import tr

PIPE_BYTES = 1 << 20


@dataclass
class WorkerProcess:
    """Pipes are non-blocking on our side. `nonce` is what the worker's first frame must carry.

    `stop` ends what a signal to the process does not reach (a container), `cleanup` removes what
    the worker needed on disk; each is called once. `find` gives the number of the worker's first
    process where it does not come from `process`.
    """

    process: subprocess.Popen
    request_fd: int
    reply_fd: int
    output_fd: int
    nonce: bytes
    inner_pidfd: int | None = None
    stop: Callable[[], None] | None = None
    cleanup: Callable[[], None] | None = None
    find: Callable[[], int | None] | None = None

    def first_pid(self) -> int | None:
        """The process from which all of the worker's come, as this machine numbers it, if known."""
        return self.process.pid if self.find is None else self.find()

    def exit_reason(self, wait_seconds: float = 1.0) -> str:
        """How the worker ended, in words; "" while it is running. Does not reap it."""
        deadline = time.monotonic() + wait_seconds
        while (ended := self._ended()) is None:
            if time.monotonic() > deadline:
                return ""
            time.sleep(0.002)
        # bubblewrap reports a signal as 128 + number.
        exited = ended.si_code == os.CLD_EXITED
        number = ended.si_status - 128 if exited else ended.si_status
        try:
            name = signal.Signals(number).name
        except ValueError:
            return tr("the process exited with status {n}", n=ended.si_status)
        return tr("the process was stopped by {name}", name=name)

    def _ended(self):
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def kill(self) -> None:
        """End the worker and everything it started, and reap it. Safe to call twice."""
        if self.process.returncode is not None:
            return
        if self.inner_pidfd is not None:
            # The first process of the pid namespace: the kernel ends the others with it, and
            # bubblewrap outside follows.
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.inner_pidfd, signal.SIGKILL)
            os.close(self.inner_pidfd)
            self.inner_pidfd = None
            self.exit_reason(2.0)
        # Before reaping: until then the number of the group cannot be anyone else's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for last in (self.stop, self.cleanup):
            if last is not None:
                last()

    def close(self) -> None:
        self.kill()
        for name in ("request_fd", "reply_fd", "output_fd"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)


class Pipes:
    """The pipes of one worker before it runs; the far ends are closed once it has them."""

    def __init__(self) -> None:
        self.far_request, self.request = os.pipe()
        self.reply, self.far_reply = os.pipe()
        self.output, self.far_output = os.pipe()
        for fd in (self.request, self.reply, self.output):
            os.set_blocking(fd, False)
        for fd in (self.request, self.reply):
            # Fewer switches between the two programs when arrays are large; a wish, not a need.
            with contextlib.suppress(OSError, AttributeError):
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    @property
    def near(self) -> tuple[int, int, int]:
        return self.request, self.reply, self.output

    @property
    def far(self) -> tuple[int, int, int]:
        return self.far_request, self.far_reply, self.far_output


def first_words(worker: WorkerProcess, seconds: float = 10.0) -> tuple[bytes, str]:
    """What a worker that was started to be tried out answers, and the last line it printed."""
    try:
        select.select([worker.reply_fd], [], [], seconds)
        said = _read_some(worker.reply_fd)
        if not said:
            worker.exit_reason()
        heard = _read_some(worker.output_fd).decode("utf-8", "replace").strip()
    finally:
        worker.close()
    # Docker ends what it has to say with a pointer to its manual.
    lines = [line for line in heard.splitlines() if not line.startswith(("Run 'docker", "See '"))]
    return said, next((line for line in reversed(lines) if line.strip()), "it ended without a word")


def send_plan(fd: int, plan: bytes) -> None:
    """Write a plan for confine.py into a new pipe, which holds it until the program reads."""
    message = struct.pack("<I", len(plan)) + plan
    if os.write(fd, message) != len(message):
        raise OSError(f"a pipe of this system cannot hold the {len(message)} bytes of a plan")


def _read_some(fd: int) -> bytes:
    with contextlib.suppress(BlockingIOError):
        return os.read(fd, 1 << 16)
    return b""


def open_files(paths: dict[str, Path]) -> dict[str, int]:
    """Read-only descriptors of the files that a worker may map.

    It gets the open file and not its name: so the name stays unknown to it, and a file that only
    its owner can read works for a worker that is another user.
    """
    opened: dict[str, int] = {}
    try:
        for name, path in paths.items():
            opened[name] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        close_all(opened.values())
        raise
    return opened


def close_all(fds) -> None:
    for fd in fds:
        os.close(fd)
