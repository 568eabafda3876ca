"""No sandbox: a plain subprocess with resource limits, for hosts that offer nothing better.

A submission run so can read what the grader's user can read. It must be asked for by name.
"""

import secrets
import subprocess
import sys
from pathlib import Path

from grader.sandbox.base import ENVIRONMENT, worker_config
from grader.sandbox.files import HERE, START
from grader.sandbox.interpreter import packages_folder
from grader.sandbox.limits import PER_USER, Limits
from grader.sandbox.process import Pipes, WorkerProcess, close_all, open_files


class NoSandbox:
    """Runs workers as this user, outside any namespace."""

    kind = tier = "none"

    @classmethod
    def working(cls) -> "NoSandbox":
        return cls()

    def launch(
        self,
        submission: Path,
        limits: Limits,
        slot: int,
        modules: dict[str, str],
        mapped: dict[str, Path] | None = None,
    ) -> WorkerProcess:
        rlimits = limits.rlimits()
        # These count per user, so they would strike the person's other programs.
        for shared in PER_USER:
            del rlimits[shared]
        data = open_files(mapped or {})
        pipes, nonce = Pipes(), secrets.token_bytes(8)
        config = worker_config(
            limits,
            rlimits=rlimits,
            lenient=True,
            packages=str(packages_folder()),
            submission=str(Path(submission).resolve()),
            mapped=data,
            modules=modules,
            request_fd=pipes.far_request,
            reply_fd=pipes.far_reply,
            nonce=nonce.hex(),
        )
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(HERE / START), config],
            stdin=subprocess.DEVNULL,
            stdout=pipes.far_output,
            stderr=pipes.far_output,
            pass_fds=(pipes.far_request, pipes.far_reply, *data.values()),
            env=ENVIRONMENT,
            cwd="/",
            start_new_session=True,
        )
        close_all([*pipes.far, *data.values()])
        return WorkerProcess(process, *pipes.near, nonce)
