"""Runs a worker in a container of Podman or Docker, from an empty image.

Nothing is downloaded: the root folder is empty but for links, and the same folders as in bubblewrap
are bound read-only. A container inherits no descriptor, so the pipes of the protocol are its
standard input and output (confine.py moves them out of a submission's way), and files to map are
bound too. The command line program runs as long as the container and passes the bytes on.
"""

import contextlib
import hashlib
import io
import json
import os
import platform
import secrets
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Self

from grader.sandbox.base import (
    ENVIRONMENT,
    FIRST_UID,
    SandboxUnavailable,
    probe_once,
    worker_config,
)
from grader.sandbox.files import CONFINE, START, WorkerFolder, remove_left_behind
from grader.sandbox.filters import load_filter, profile_path, required_filter
from grader.sandbox.interpreter import PACKAGES, WORKER, UnsafeInterpreter, View, interpreter_view
from grader.sandbox.limits import Limits
from grader.sandbox.process import Pipes, WorkerProcess, close_all, first_words, send_plan

IMAGE = "kv-cache-homework-empty"
SUBMISSION, MAPPED = Path("/submission"), Path("/opt/mapped")
# The control group counts what the kernel keeps for a worker too, RLIMIT_AS only its own pages.
MARGIN_MIB = 64
ASK_SECONDS, PROBE_SECONDS, REMOVE_SECONDS = 30, 60, 30
READ_DEVICES = ("zero", "random", "urandom")

# Waits until the grader closes its end of the pipe, by will or by dying, and removes the container
# and its folder.
KEEPER = 'read -r line; "$0" rm --force "$1"; rm -rf "$2"'


@dataclass(frozen=True)
class Engine:
    """How Podman and Docker differ. `options` come before the command, `run` after it."""

    name: str
    options: tuple[str, ...]
    run: tuple[str, ...]


PODMAN = Engine(
    "podman",
    ("--log-level", "error"),
    ("--read-only-tmpfs=false", "--no-hosts", "--stop-timeout", "0", "--image-volume", "ignore"),
)
DOCKER = Engine("docker", (), ("--stop-timeout", "0", "--pull", "never"))


class Container:
    """Starts workers with one program, Podman's or Docker's, that was seen to work."""

    engine: Engine

    def __init__(self, program: str, view: View, profile: Path, counted: bool = True):
        """`profile` is the seccomp policy as JSON; `counted` says whether control groups work."""
        self._program = program
        self._view = view
        self._profile = profile
        self._counted = counted
        self.kind = self.engine.name
        groups = "" if counted else ", no control groups"
        self.tier = f"{self.engine.name} (uid per slot{groups})"

    @classmethod
    def working(cls) -> Self:
        """A sandbox tried out in this process; SandboxUnavailable says why there is none."""
        return _working(cls)

    def launch(
        self,
        submission: Path,
        limits: Limits,
        slot: int,
        modules: dict[str, str],
        mapped: dict[str, Path] | None = None,
    ) -> WorkerProcess:
        """Start a worker that sees `submission` at /submission and can map the `mapped` files.

        Raises:
            SandboxUnavailable: a mapped file is not readable by others, as a container's user is.
        """
        for path in (mapped or {}).values():
            if not path.stat().st_mode & 0o004:
                raise SandboxUnavailable(
                    f"a container's user cannot read {path}; run: chmod o+r {path}"
                )
        return self._start(submission, limits, slot, mapped or {}, modules=modules)

    def probe(self) -> None:
        """Run the worker's first steps inside; SandboxUnavailable when they fail."""
        said, heard = first_words(self._start(None, Limits(), 0, {}, probe=True), PROBE_SECONDS)
        if said != b"ok %d" % FIRST_UID:
            raise SandboxUnavailable(f"{self._program} cannot start a container: {heard}")

    def _start(self, submission, limits, slot, mapped, **different) -> WorkerProcess:
        folder, pipes, nonce = WorkerFolder(submission), Pipes(), secrets.token_bytes(8)
        places = {name: str(MAPPED / str(i)) for i, name in enumerate(mapped)}
        config = worker_config(
            limits, packages=str(PACKAGES), mapped=places, nonce=nonce.hex(), **different
        )
        name = f"grader-{os.getpid()}-{secrets.token_hex(8)}"
        command = [self._program, *self.engine.options, "run", "--name", name]
        command += self._options(limits, slot)
        command += self._binds(folder, dict(zip(places.values(), mapped.values(), strict=True)))
        command += [self._root(folder), str(self._view.executable), "-I", "-S", "-B"]
        try:
            send_plan(pipes.request, json.dumps(self._plan(json.loads(config))).encode())
            keeper = self._keeper(name, folder)
            process = subprocess.Popen(
                [*command, str(WORKER / CONFINE)],
                stdin=pipes.far_request,
                stdout=pipes.far_reply,
                stderr=pipes.far_output,
                start_new_session=True,
            )
        except BaseException:
            close_all(pipes.near)
            folder.remove()
            raise
        finally:
            close_all(pipes.far)

        def stop() -> None:
            if keeper.stdin is not None:  # a pipe: its end wakes the keeper
                keeper.stdin.close()
            try:
                keeper.wait(REMOVE_SECONDS)
            except subprocess.TimeoutExpired:
                keeper.kill()
                keeper.wait()

        find = partial(self._first_pid, name)
        return WorkerProcess(
            process, *pipes.near, nonce, stop=stop, cleanup=folder.remove, find=find
        )

    def _first_pid(self, name: str) -> int | None:
        """Of a container, where its engine runs on this machine and not in one of its own."""
        asked = [self._program, *self.engine.options, "container", "inspect"]
        with contextlib.suppress(SandboxUnavailable, OSError):
            pid = _ask([*asked, "--format", "{{.State.Pid}}", name]).stdout.decode().strip()
            if pid.isdigit() and CONFINE in Path(f"/proc/{pid}/cmdline").read_text():
                return int(pid)
        return None

    def _keeper(self, name: str, folder: WorkerFolder) -> subprocess.Popen:
        """A process that outlives the grader long enough to remove the container."""
        return subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, self._program, name, str(folder.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _options(self, limits: Limits, slot: int) -> list[str]:
        user = FIRST_UID + slot
        options = ["--rm", "--interactive", "--read-only", *self.engine.run]
        options += ["--user", f"{user}:{user}", "--workdir", "/tmp", "--hostname", "sandbox"]
        # No network, and no /dev/shm, which a submission could fill.
        options += ["--network", "none", "--ipc", "none", "--log-driver", "none"]
        options += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        options += ["--security-opt", f"seccomp={self._profile}"]
        # SELinux would forbid reading the host's libraries, and relabelling those is no option.
        options += ["--security-opt", "label=disable"]
        rlimits = limits.rlimits()
        for name in ("NOFILE", "NPROC", "CORE"):
            # The engines' own defaults may be above what the grader itself is allowed.
            options += ["--ulimit", f"{name.lower()}={rlimits[name]}:{rlimits[name]}"]
        if self._counted:
            options += ["--pids-limit", str(limits.processes)]
            options += ["--memory", f"{limits.memory_mib + MARGIN_MIB}m"]
        environment = dict(ENVIRONMENT)
        if self._view.library_path:
            environment["LD_LIBRARY_PATH"] = self._view.library_path
        for name, value in environment.items():
            options += ["--env", f"{name}={value}"]
        return options

    def _binds(self, folder: WorkerFolder, mapped: dict[str, Path]) -> list[str]:
        binds = [*self._view.binds, (folder.worker, WORKER), (folder.submission, SUBMISSION)]
        binds += [(path.resolve(), Path(place)) for place, path in mapped.items()]
        empty = folder.path / "empty"
        empty.mkdir()
        binds += [(empty, mask) for mask in self._view.masks]
        options = []
        for source, target in binds:
            if any(sign in str(source) for sign in ',"\n'):
                raise SandboxUnavailable(f"a container cannot be given {source}: rename it")
            options += ["--mount", f"type=bind,source={source},target={target},readonly"]
        return options

    def _plan(self, config: dict) -> dict:
        # Landlock takes away what an engine always shows: /proc, and mounts of its own.
        seen = [*(target for _, target in self._view.binds), Path("/opt"), SUBMISSION, Path("/tmp")]
        seen += [Path("/dev") / name for name in READ_DEVICES]
        return {
            "config": config,
            "worker": str(WORKER / START),
            "cwd": None,
            "uid": None,
            "parent": None,
            "grants": [*((str(path), "read") for path in seen), ("/dev/null", "device")],
            "protected": [],
            # The engine has its profile already, if its kernel and its settings let it.
            "filters": [required_filter().hex()],
        }

    def _root(self, folder: WorkerFolder) -> str:
        raise NotImplementedError


class Podman(Container):
    """Containers whose root folder is an empty folder of the host."""

    engine = PODMAN

    def _root(self, folder: WorkerFolder) -> str:
        root = folder.path / "root"
        for path, content in root_entries(self._view):
            place = root / path
            if content is None:
                place.mkdir(parents=True, exist_ok=True)
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(content)
        return str(root)

    def _options(self, limits: Limits, slot: int) -> list[str]:
        return [*super()._options(limits, slot), "--rootfs"]


class Docker(Container):
    """Containers from an image that is made here, of an archive with folders and links only."""

    engine = DOCKER

    def _root(self, folder: WorkerFolder) -> str:
        return import_image(self._program, root_entries(self._view))


def root_entries(view: View) -> tuple[tuple[str, str | None], ...]:
    """The root folder of a container: (path, where a link leads or None for a folder)."""
    folders = [(name, None) for name in ("dev", "etc", "proc", "sys", "tmp")]
    return (*folders, *((str(path).lstrip("/"), target) for target, path in view.links))


@cache
def import_image(program: str, entries: tuple[tuple[str, str | None], ...]) -> str:
    """The name of an image with these entries, made when Docker does not have it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, target in entries:
            entry = tarfile.TarInfo(path)
            entry.mode, entry.linkname = 0o755, target or ""
            entry.type = tarfile.DIRTYPE if target is None else tarfile.SYMTYPE
            tar.addfile(entry)
    content = archive.getvalue()
    name = f"{IMAGE}:{hashlib.sha256(content).hexdigest()[:16]}"
    if _ask([program, "image", "inspect", name]).returncode:
        made = _ask([program, "import", "-", name], content)
        if made.returncode:
            raise SandboxUnavailable(f"{program} cannot make an empty image: {_words(made)}")
    return name


def _ask(command: list[str], given: bytes = b"") -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, input=given, capture_output=True, timeout=ASK_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise SandboxUnavailable(f"{command[0]} does not answer ({problem})") from None


def _words(done: subprocess.CompletedProcess) -> str:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


@probe_once
def _working(kind: type[Container]) -> Container:
    name = kind.engine.name
    program = shutil.which(name)
    if program is None:
        raise SandboxUnavailable(f"{name} is not installed")
    asked = _ask([program, *kind.engine.options, "info"])
    if asked.returncode:
        raise SandboxUnavailable(f"{name} is installed and does not work: {_words(asked)}")
    try:
        view = interpreter_view()
    except UnsafeInterpreter as error:
        raise SandboxUnavailable(str(error)) from None
    profile = profile_path(platform.machine())
    if not profile.is_file() or load_filter() is None:
        raise SandboxUnavailable(f"no system call filter for {name} is shipped for this machine")
    remove_left_behind()
    refusals = []
    for counted in (True, False):
        sandbox = kind(program, view, profile, counted)
        try:
            sandbox.probe()
        except SandboxUnavailable as error:
            refusals.append(str(error))
        else:
            return sandbox
    raise SandboxUnavailable("; without control groups: ".join(dict.fromkeys(refusals)))
