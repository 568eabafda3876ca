"""Runs a worker inside bubblewrap: own namespaces, a bare file system, a system call filter.

The file system holds the interpreter, numpy, the worker and a copy of the submission; all of it is
read-only and there is no /proc. As root the worker becomes a real unprivileged user, one per slot,
because a user namespace made by root would leave the kernel's idea of its user at root. As an
ordinary user it runs in a user namespace.
"""

import contextlib
import json
import os
import secrets
import select
import subprocess
from pathlib import Path
from typing import Self

from grader.sandbox.base import (
    ENVIRONMENT,
    FIRST_UID,
    SandboxUnavailable,
    probe_once,
    worker_config,
)
from grader.sandbox.files import START, WORKER_FILES, submission_files, worker_source
from grader.sandbox.filters import load_filter
from grader.sandbox.interpreter import PACKAGES, WORKER, UnsafeInterpreter, View, interpreter_view
from grader.sandbox.limits import Limits
from grader.sandbox.process import Pipes, WorkerProcess, close_all, first_words, open_files
from grader.sandbox.program import bubblewrap_program

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


class Bubblewrap:
    """Starts workers with one bubblewrap program that was seen to work."""

    kind = "bubblewrap"

    def __init__(self, program: str, view: View, as_root: bool, syscall_filter: bytes | None):
        self._program = program
        self._view = view
        self._as_root = as_root
        self._filter = syscall_filter
        how = "root, uid per slot" if as_root else "user namespace"
        self.tier = f"bubblewrap ({how}{'' if syscall_filter else ', no syscall filter'})"

    @classmethod
    def working(cls) -> Self:
        """A sandbox tried out in this process; SandboxUnavailable says why there is none."""
        return _working()

    def launch(
        self,
        submission: Path,
        limits: Limits,
        slot: int,
        modules: dict[str, str],
        mapped: dict[str, Path] | None = None,
    ) -> WorkerProcess:
        """Start a worker that sees `submission` at /submission and can map the `mapped` files.

        The worker is killed when the thread that called this ends, not only with the process: call
        it from a thread that lives as long as the worker should.
        """
        files = submission_files(submission)
        data = open_files(mapped or {})
        pipes, nonce = Pipes(), secrets.token_bytes(8)
        config = worker_config(
            limits,
            **self._identity(slot),
            packages=str(PACKAGES),
            mapped=data,
            modules=modules,
            request_fd=pipes.far_request,
            reply_fd=pipes.far_reply,
            nonce=nonce.hex(),
        )
        kept = list(data.values())
        process, pidfd = self._start(config, files, kept, pipes, limits.start_seconds)
        return WorkerProcess(process, *pipes.near, nonce, pidfd)

    def probe(self) -> None:
        """Run the worker's first steps inside; SandboxUnavailable when they fail."""
        pipes = Pipes()
        config = worker_config(
            Limits(),
            **self._identity(0),
            probe=True,
            request_fd=pipes.far_request,
            reply_fd=pipes.far_reply,
        )
        process, pidfd = self._start(config, {}, [], pipes, 10.0)
        said, heard = first_words(WorkerProcess(process, *pipes.near, b"", pidfd))
        if not said.startswith(b"ok ") or (self._as_root and said == b"ok 0"):
            raise SandboxUnavailable(f"{self._program} cannot start a worker: {heard}")

    def _identity(self, slot: int) -> dict:
        return {"uid": FIRST_UID + slot if self._as_root else None}

    def _start(self, config, files, kept, pipes, start_seconds):
        """(process, pidfd inside): spawn bubblewrap, with `kept` open, and learn whom to kill."""
        info, far_info = os.pipe()
        opened = [far_info, *kept]
        try:
            options = self._options(files, opened)
            options += ["--info-fd", str(far_info)]
            if self._filter:
                options += ["--seccomp", str(_sealed(self._filter, opened))]
            args = _sealed("\0".join(options).encode() + b"\0", opened)
            command = [self._program, "--args", str(args), "--", str(self._view.executable)]
            worker = str(WORKER / START)
            process = subprocess.Popen(
                [*command, "-I", "-S", "-B", worker, config],
                stdin=subprocess.DEVNULL,
                stdout=pipes.far_output,
                stderr=pipes.far_output,
                pass_fds=(pipes.far_request, pipes.far_reply, *opened),
                env={},
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            close_all([info, *pipes.near])
            raise
        finally:
            close_all([*opened, *pipes.far])
        try:
            return process, _inner_pidfd(info, start_seconds)
        finally:
            os.close(info)

    def _options(self, files: dict[str, bytes], opened: list[int]) -> list[str]:
        copies = {str(WORKER / name): worker_source(name) for name in WORKER_FILES}
        copies |= {f"/submission/{name}": content for name, content in files.items()}
        options = [*self._namespaces(), *self._file_system(), *_folders(copies)]
        for target, content in copies.items():
            fd = _sealed(content, opened)
            options += ["--perms", "0444", "--file", str(fd), target]
        options += ["--remount-ro", "/", "--chdir", "/tmp"]
        for name, value in self._environment().items():
            options += ["--setenv", name, value]
        return options

    def _namespaces(self) -> list[str]:
        # bubblewrap itself stays the first process of the pid namespace. As another user than the
        # worker it is out of its reach, and when it ends (with the grader, say) all inside ends.
        unshared = ["pid", "net", "ipc", "uts", "cgroup-try"]
        options = [f"--unshare-{name}" for name in unshared]
        options += ["--hostname", "sandbox", "--die-with-parent", "--new-session"]
        options += ["--cap-drop", "ALL"]
        if self._as_root:
            return [*options, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        return [*options, "--unshare-user", "--uid", "1000", "--gid", "1000"]

    def _file_system(self) -> list[str]:
        targets = [str(target) for _, target in self._view.binds]
        options = _folders([*targets, *DEVICES, "/tmp/x", "/dev/shm/x", "/submission/x"])
        for source, target in self._view.binds:
            options += ["--ro-bind", str(source), str(target)]
        for target in self._view.masks:
            options += ["--tmpfs", str(target), "--remount-ro", str(target)]
        for points_to, link in self._view.links:
            options += ["--symlink", points_to, str(link)]
        for device in DEVICES:
            options += ["--dev-bind", device, device]
        return options

    def _environment(self) -> dict[str, str]:
        wanted = dict(ENVIRONMENT)
        if self._view.library_path:
            wanted["LD_LIBRARY_PATH"] = self._view.library_path
        return wanted


@probe_once
def _working() -> Bubblewrap:
    try:
        view = interpreter_view()
    except UnsafeInterpreter as error:
        raise SandboxUnavailable(str(error)) from None
    program = bubblewrap_program()
    sandbox = Bubblewrap(program.path, view, os.geteuid() == 0, load_filter())
    try:
        sandbox.probe()
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            f"{error}. Containers and some distributions forbid namespaces: allow unprivileged "
            "user namespaces, or grade on another machine. To grade without a sandbox, ask for it "
            "by name: none"
        ) from None
    return sandbox


def _folders(targets) -> list[str]:
    """Options that make the folders above `targets`; by itself bubblewrap makes them 0700."""
    folders = {folder for target in targets for folder in list(Path(target).parents)[:-1]}
    return [o for folder in sorted(folders) for o in ("--perms", "0755", "--dir", str(folder))]


def _sealed(content: bytes, opened: list[int]) -> int:
    """A descriptor at the start of an anonymous file that holds `content`."""
    fd = os.memfd_create("grader")
    opened.append(fd)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _inner_pidfd(info: int, seconds: float) -> int | None:
    """A handle on the first process of the sandbox; None when bubblewrap did not get that far."""
    text = b""
    while select.select([info], [], [], seconds)[0]:
        part = os.read(info, 4096)
        text += part
        if not part or b"}" in part:
            break
    with contextlib.suppress(ValueError, KeyError, OSError):
        return os.pidfd_open(json.loads(text)["child-pid"])
    return None
