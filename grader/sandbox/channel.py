"""A worker's pipes: its first words, one request and its reply, what it prints meanwhile."""

import os
import secrets
import select
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from grader.base.errors import SandboxUnavailable
from grader.base.words import tr
from grader.sandbox import wire
from grader.sandbox.clock import Deadline, Patience, WorkerBooks, WorkerClock
from grader.sandbox.limits import Limits
from grader.sandbox.problems import ProtocolViolation, SubmissionProblem, WorkerDied
from grader.sandbox.process import WorkerProcess

CHUNK = 1 << 20

Frame = bytes | memoryview


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


class Channel:
    """Sends one request and reads its reply, with some patience, keeping the worker's prints."""

    def __init__(self, worker: WorkerProcess, limits: Limits, output: "Output"):
        self.worker = worker
        self._limits = limits
        self._output = output
        self.clock: WorkerClock  # from its first words on
        self._poll = select.poll()
        self._poll.register(worker.reply_fd, select.POLLIN)
        self._poll.register(worker.output_fd, select.POLLIN)
        self._output_open = True

    def exchange(self, message: dict, arrays: list, patience: Patience):
        """(reply, numbers). Raises a SubmissionProblem without a function name in it."""
        frame = wire.build_frame(bytes(8), message, arrays, self._limits.frame_bytes)
        return opened(*self.ask(frame, patience))

    def ask(self, frame: Frame, patience: Patience) -> tuple[bytes, int]:
        """What is answered to a frame, which gets a nonce: bytes, and how many are its message."""
        nonce = secrets.token_bytes(wire.NONCE_BYTES)
        self._refuse_early_bytes()
        self._send(wire.with_nonce(frame, nonce), patience)
        return self._receive(nonce, patience)

    def ask_ahead(self, frames: Sequence[Frame], patience: Patience) -> list[tuple[bytes, int]]:
        """What is answered to several frames, which are sent while the answers are read."""
        nonces = [secrets.token_bytes(wire.NONCE_BYTES) for _ in frames]
        requests = zip(frames, nonces, strict=True)
        rest = memoryview(b"".join([wire.with_nonce(*request) for request in requests]))
        self._refuse_early_bytes()
        incoming = wire.Incoming(nonces, self._limits.frame_bytes)
        try:
            while not incoming.is_complete:
                rest = self._write_some(rest)
                for fd, _ in self._wait_for_either(bool(rest), patience):
                    if fd == self.worker.output_fd:
                        self._take_output()
                    elif fd == self.worker.reply_fd:
                        incoming.add(self._read_some())
        except wire.WireError as error:
            raise ProtocolViolation(f"sent something that is not a reply: {error}") from None
        return incoming.replies

    def _write_some(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self.worker.request_fd, rest) :] if rest else rest
        except BlockingIOError:
            return rest
        except BrokenPipeError:
            self._died()
            raise

    def _read_some(self) -> bytes:
        part = os.read(self.worker.reply_fd, CHUNK)
        if not part:
            self._died()
        return part

    def _wait_for_either(self, writing: bool, patience: Patience):
        """Until there is something to read, or room to write where that is wanted."""
        if not writing:
            return self._wait(patience)
        self._poll.register(self.worker.request_fd, select.POLLOUT)
        try:
            return self._wait(patience)
        finally:
            self._poll.unregister(self.worker.request_fd)

    def receive(self, nonce: bytes, patience: Patience):
        """The frame that carries `nonce`."""
        return opened(*self._receive(nonce, patience))

    def _receive(self, nonce: bytes, patience: Patience) -> tuple[bytes, int]:
        try:
            header = self._read(wire.HEADER.size, patience)
            sizes = wire.check_header(header, nonce, self._limits.frame_bytes)
        except wire.WireError as error:
            raise ProtocolViolation(f"sent something that is not a reply: {error}") from None
        return self._read(sum(sizes), patience), sizes[0]

    def drain(self) -> None:
        """Take what was printed and is still in the pipe."""
        while self._output_open and self._take_output():
            pass

    def close(self) -> None:
        """End the worker, and take what it printed last."""
        self.worker.kill()
        self.drain()
        self.worker.close()

    def _refuse_early_bytes(self) -> None:
        for fd, event in self._poll.poll(0):
            if fd == self.worker.output_fd:
                self._take_output()
            elif event & select.POLLIN:
                raise ProtocolViolation("sent data before it was asked for anything")
            else:
                self._died()

    def _send(self, frame: bytes, patience: Patience) -> None:
        rest = memoryview(frame)
        while True:
            try:
                rest = rest[os.write(self.worker.request_fd, rest) :]
            except BlockingIOError:
                self._wait_writable(patience)
            except BrokenPipeError:
                self._died()
            if not rest:
                return

    def _wait_writable(self, patience: Patience) -> None:
        self._poll.register(self.worker.request_fd, select.POLLOUT)
        try:
            for fd, event in self._wait(patience):
                if fd == self.worker.output_fd:
                    self._take_output()
                elif fd == self.worker.reply_fd:
                    if event & select.POLLIN:
                        raise ProtocolViolation("answered before it had read the whole question")
                    self._died()
        finally:
            self._poll.unregister(self.worker.request_fd)

    def _read(self, count: int, patience: Patience) -> bytes:
        parts = []
        while count:
            try:
                part = os.read(self.worker.reply_fd, min(count, CHUNK))
            except BlockingIOError:
                self._wait_readable(patience)
                continue
            if not part:
                self._died()
            parts.append(part)
            count -= len(part)
            if count:
                patience.check()
        return b"".join(parts)

    def _wait_readable(self, patience: Patience) -> None:
        ready = [fd for fd, _ in self._wait(patience)]
        if self.worker.output_fd in ready:
            self._take_output()

    def _wait(self, patience: Patience):
        while True:
            patience.check()
            if ready := self._poll.poll(patience.pause * 1000):
                return ready

    def _take_output(self) -> bool:
        try:
            part = os.read(self.worker.output_fd, CHUNK)
        except BlockingIOError:
            return False
        if not part:
            self._poll.unregister(self.worker.output_fd)
            self._output_open = False
            return False
        self._output.add(part)
        return True

    def _died(self) -> None:
        how = self.worker.exit_reason()
        raise WorkerDied(how or tr("the process closed its side of the pipe"))


def opened(body: bytes, message_bytes: int):
    """(reply, numbers) of a reply as it came; ProtocolViolation where it is none."""
    try:
        return wire.parse_body(body, message_bytes)
    except wire.WireError as error:
        raise ProtocolViolation(f"sent something that is not a reply: {error}") from None


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


def connect(
    launch: Callable[[], WorkerProcess],
    limits: Limits,
    output: Output,
    trusted: TrustedParts | None,
) -> Channel:
    """Start a worker and check what it says of itself. No code of the submission runs yet."""
    patience = Deadline(limits.start_seconds)
    worker = launch()
    channel = Channel(worker, limits, output)
    try:
        hello, _ = channel.receive(worker.nonce, patience)
        if trusted is not None:
            _hand_over(trusted, channel, patience)
    except SubmissionProblem as problem:
        channel.drain()
        worker.close()
        said = output.tail(300).strip()
        raise SandboxUnavailable(f"a worker could not start: {problem} {said}") from None
    if hello["forbidden"] is not None:
        worker.close()
        raise SandboxUnavailable(
            f"a submission could import {hello['forbidden']} here; grade from an environment "
            "where it is not installed beside numpy"
        )
    channel.clock = WorkerClock(WorkerBooks(worker.first_pid()))
    return channel


def _hand_over(trusted: TrustedParts, channel: Channel, patience: Patience) -> None:
    """Give the worker trusted functions before it runs anything of the submission."""
    request = {"op": "trust", **asdict(trusted)}
    reply, _ = channel.exchange(request, [], patience)
    if "error" in reply:
        error = reply["error"]
        raise SubmissionProblem(
            f"the trusted functions could not be loaded ({error['type']}: {error['message']})"
        )
