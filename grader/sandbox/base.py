"""What every sandbox offers, what its workers are told, and how one says that it cannot work."""

import json
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Protocol, Self

from grader.base.errors import SandboxUnavailable
from grader.sandbox.limits import Limits
from grader.sandbox.process import WorkerProcess

# The user of slot 0, where each slot has its own. Above the users of persons and services.
FIRST_UID = 64100
# numpy's BLAS would otherwise start a thread for each core.
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}


def probe_once(probe: Callable) -> Callable:
    """`probe`, which returns a sandbox or raises SandboxUnavailable, is run once for its arguments.

    A refusal is remembered too: children of the warm server ask again for every submission.
    """

    @cache
    def remembered(*args):
        try:
            return probe(*args), None
        except SandboxUnavailable as refusal:
            return None, str(refusal)

    @wraps(probe)
    def asked(*args):
        sandbox, refusal = remembered(*args)
        if sandbox is None:
            raise SandboxUnavailable(refusal)
        return sandbox

    asked.cache_clear = remembered.cache_clear  # type: ignore[attr-defined]
    return asked


class Sandbox(Protocol):
    """A way to run workers.

    Attributes:
        kind: the name to ask for it by, see grader.sandbox.TIERS; decisions read this.
        tier: the kind and what it lacks, in words. Both are written in every result.
    """

    kind: str
    tier: str

    @classmethod
    def working(cls) -> Self:
        """A sandbox tried out in this process; SandboxUnavailable says why there is none."""
        ...

    def launch(
        self,
        submission: Path,
        limits: Limits,
        slot: int,
        modules: dict[str, str],
        mapped: dict[str, Path] | None = None,
    ) -> WorkerProcess:
        """Start a worker for the folder `submission` that can map the `mapped` files.

        Workers that run at the same time have different slots. Call it from a thread that lives as
        long as the worker should: some tiers kill the worker when that thread ends.
        """
        ...


def worker_config(limits: Limits, **different) -> str:
    """The worker's only argument, as JSON. Nothing in it is secret: a submission can read it."""
    config = {
        "uid": None,
        "probe": False,
        "lenient": False,
        "packages": "",
        "submission": "/submission",
        "mapped": {},
        "modules": {},
        "rlimits": limits.rlimits(),
        "frame_bytes": limits.frame_bytes,
    }
    return json.dumps({**config, **different})
