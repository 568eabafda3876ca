"""Runs a worker without namespaces, where a container or a distribution refuses them.

As root each slot is a user of its own; as an ordinary user the worker keeps the grader's, and then
only Landlock keeps it from the grader's files. Either way: no new privileges, resource limits, the
system call filter and a layer that refuses signals to others, another that refuses to write where
the kernel has no Landlock. See confine.py for what happens inside, and docs/security.md for what
this cannot do.
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from grader.sandbox import confine
from grader.sandbox.base import (
    ENVIRONMENT,
    FIRST_UID,
    SandboxUnavailable,
    probe_once,
    worker_config,
)
from grader.sandbox.files import CONFINE, START, WorkerFolder, remove_left_behind
from grader.sandbox.filters import load_filter, required_filter
from grader.sandbox.interpreter import UnsafeInterpreter, interpreter_view, protected_paths
from grader.sandbox.limits import PER_USER, Limits
from grader.sandbox.process import (
    Pipes,
    WorkerProcess,
    close_all,
    first_words,
    open_files,
    send_plan,
)
from grader.sandbox.runtime import Runtime, runtime_for

READ_DEVICES = ("/dev/zero", "/dev/random", "/dev/urandom")


class Portable:
    """Starts workers with the rights of the operating system alone."""

    kind = "portable"

    def __init__(
        self, runtime: Runtime, as_root: bool, landlock: bool, protected: tuple[Path, ...] = ()
    ):
        """`protected` must be unreadable to workers where there is no Landlock."""
        self._runtime = runtime
        self._as_root = as_root
        self._landlock = landlock
        self._protected = protected
        who = "root, uid per slot" if as_root else "this user"
        self.tier = f"portable ({who}, {'Landlock' if landlock else 'no Landlock'})"

    @classmethod
    def working(cls) -> "Portable":
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
        """Start a worker that reads a copy of `submission` and can map the `mapped` files.

        It is killed when the thread that called this ends: call it from a thread that lives as long
        as the worker should.
        """
        # Modes are all that hides one submission from another where there is no Landlock.
        hidden = () if self._landlock else (Path(submission).resolve(),)
        return self._start(submission, limits, slot, hidden, mapped or {}, modules=modules)

    def probe(self) -> None:
        """Run the worker's first steps; SandboxUnavailable when they fail."""
        said, heard = first_words(self._start(None, Limits(), 0, (), {}, probe=True))
        if not said.startswith(b"ok ") or (self._as_root and said == b"ok 0"):
            raise SandboxUnavailable(f"a worker cannot give up its rights here: {heard}")

    def _start(self, submission, limits, slot, hidden, mapped, **different) -> WorkerProcess:
        uid = FIRST_UID + slot if self._as_root else None
        folder = WorkerFolder(submission, group=uid)
        try:
            data = open_files(mapped)
        except OSError:
            folder.remove()
            raise
        pipes, nonce = Pipes(), secrets.token_bytes(8)
        config = worker_config(
            limits,
            rlimits=self._rlimits(limits),
            packages=str(self._runtime.packages),
            submission=str(folder.submission),
            mapped=data,
            nonce=nonce.hex(),
            **different,
        )
        plan = self._plan(json.loads(config), folder, uid, hidden)
        try:
            send_plan(pipes.request, json.dumps(plan).encode())
            process = self._spawn(folder, pipes, list(data.values()))
        except BaseException:
            close_all(pipes.near)
            folder.remove()
            raise
        finally:
            close_all([*pipes.far, *data.values()])
        return WorkerProcess(process, *pipes.near, nonce, cleanup=folder.remove)

    def _spawn(self, folder: WorkerFolder, pipes: Pipes, kept: list[int]) -> subprocess.Popen:
        libraries = {"LD_LIBRARY_PATH": self._runtime.library_path}
        return subprocess.Popen(
            [str(self._runtime.program), "-I", "-S", "-B", str(folder.worker / CONFINE)],
            stdin=pipes.far_request,
            stdout=pipes.far_reply,
            stderr=pipes.far_output,
            pass_fds=kept,
            env=ENVIRONMENT | (libraries if self._runtime.library_path else {}),
            cwd="/",
            start_new_session=True,
        )

    def _rlimits(self, limits: Limits) -> dict[str, int]:
        rlimits = limits.rlimits()
        if not self._as_root:
            for name in PER_USER:
                del rlimits[name]
        return rlimits

    def _plan(self, config: dict, folder: WorkerFolder, uid: int | None, hidden) -> dict:
        # The allow-list comes last, as it does not allow what installs the others' groundwork.
        layers = ["shared", ""] if self._landlock else ["shared", "readonly", ""]
        return {
            "config": config,
            "worker": str(folder.worker / START),
            "cwd": str(folder.submission.parent),
            "uid": uid,
            "parent": os.getpid(),
            "grants": self._grants(folder) if self._landlock else None,
            "protected": [] if self._landlock else [str(p) for p in (*self._protected, *hidden)],
            "filters": [required_filter(layer).hex() for layer in layers],
        }

    def _grants(self, folder: WorkerFolder) -> list[tuple[str, str]]:
        trees = (folder.path, *self._runtime.trees, *map(Path, READ_DEVICES))
        grants = [(str(path), "read") for path in trees]
        grants += [(str(path), "list") for path in self._runtime.listed]
        return [*grants, ("/dev/null", "device")]


@probe_once
def _working() -> Portable:
    if sys.platform != "linux":
        raise SandboxUnavailable("the portable sandbox needs Linux")
    if load_filter() is None:
        raise SandboxUnavailable(
            "the portable sandbox needs a system call filter, and none is shipped for this machine"
        )
    as_root, landlock = os.geteuid() == 0, confine.landlock_version() > 0
    if not (as_root or landlock):
        raise SandboxUnavailable(
            "the portable sandbox needs root or a kernel with Landlock (Linux 5.13 and later, "
            "switched on), and here is neither"
        )
    try:
        view = interpreter_view()
    except UnsafeInterpreter as error:
        raise SandboxUnavailable(str(error)) from None
    remove_left_behind()
    runtime = runtime_for(view, another_user=as_root)
    sandbox = Portable(runtime, as_root, landlock, tuple(protected_paths()))
    sandbox.probe()
    return sandbox
