"""A dask worker's end: it makes the suite for itself and grades one submission at a time."""

import contextlib
import functools
import hashlib
import importlib.metadata
import multiprocessing
import os
import platform
import socket
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from assignment.harness.parts import SERVING_PART
from grader.base.errors import GraderError
from grader.base.places import GRADER
from grader.cluster.packing import unpack
from grader.intake.course import Course
from grader.intake.submissions import Found
from grader.results.disk import SCRATCH_PREFIX
from grader.results.record import (
    record_path,
)
from grader.running.child import Grading
from grader.running.locks import results_lock
from grader.running.pool import grade_all
from grader.running.slots import own_folder

_PACKAGES = ("numpy", "hypothesis", "pytest", "pydantic", "safetensors", "distributed")
_MAX_WORKPLACES = 1000
_ONCE = threading.RLock()


@dataclass(frozen=True)
class SuiteRecipe:
    """What a machine with the same grader needs to make a run's suite. Holds the secret."""

    key: bytes = field(repr=False)
    real_model: bool
    part12: bool = False

    def hash(self) -> str:
        """What the suite's hash will be, without making it."""
        from grader.grading.suite import suite_hash

        return suite_hash(self.key, self.real_model, self.part12)

    def load(self, scratch: Path) -> Any:
        """The suite; its hidden cases lie in `scratch`."""
        from grader.grading.suite import Suite

        return Suite.load(self.key, self.real_model, scratch, self.part12)

    def course(self) -> Course:
        """The homework installed here."""
        course = Course.load()
        return course.with_modules(SERVING_PART.modules) if self.part12 else course

    def tier(self, sandbox: str) -> str:
        """The sandbox that this machine would use; GraderError when it has none."""
        from grader.sandbox import SandboxUnavailable, choose_sandbox

        try:
            return choose_sandbox(sandbox).tier
        except SandboxUnavailable as problem:
            raise GraderError(str(problem)) from None

    def require(self) -> None:
        """GraderError when something that the suite needs is not installed here."""
        from reference_model import smollm2

        if self.real_model and smollm2.find() is None:
            raise GraderError(
                "The real model is not installed there. Fetch it with "
                "`python -m reference_model.smollm2`, or run with --no-real-model."
            )


@dataclass(frozen=True)
class Job:
    """One submission on its way to a worker. `earlier` is its record of an earlier run, or b""."""

    found: Found
    earlier: bytes
    recipe: Any  # a SuiteRecipe or a stand-in
    grading: Grading  # its paths and its suite stay at home
    preload: Sequence[str]


@dataclass(frozen=True)
class Facts:
    """What must be equal on all machines of a run, and what each has for itself."""

    host: str
    versions: dict[str, str]
    tier: str = ""
    problem: str = ""


class WrongWorker(Exception):
    """A worker that must not grade this run: other code, or something is missing."""


def facts(recipe: Any, sandbox: str) -> Facts:
    """What this machine has, for the client to compare."""
    tier = problem = ""
    try:
        recipe.require()
        tier = recipe.tier(sandbox)
        _workplace()
    except GraderError as sentence:
        problem = str(sentence)
    return Facts(socket.gethostname(), versions(recipe), tier, problem)


def versions(recipe: Any) -> dict[str, str]:
    """Everything here that could change a result: Python, packages, the grader, the suite."""
    found = {"Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return {**found, "the grader": _own_digest(), "the suite": recipe.hash()}


@functools.cache
def _own_digest() -> str:
    """The version number alone would not tell two checkouts apart."""
    digest = hashlib.sha256()
    for path in sorted((*GRADER.rglob("*.py"), *GRADER.rglob("*.toml"))):
        digest.update(f"\n{path.relative_to(GRADER).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def grade_there(job: Job) -> tuple[bytes, bool]:
    """Runs on a worker: the record as JSON, and whether it is the earlier one.

    Whatever happens to the submission's own process is in the record (see grader.running.pool);
    what this raises is the worker's fault.
    """
    # A nanny's worker counts as daemonic, which multiprocessing takes to forbid children of its
    # own. Ours watch for its death themselves.
    multiprocessing.current_process().daemon = False
    suite = _suite(job.recipe, job.grading.suite_hash)
    with tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=_workplace()) as folder:
        out = Path(folder)
        out.chmod(0o711)  # as grader.running.pool's scratch folders
        found = unpack(job.found, out / "handed-in")
        if job.earlier:
            record_path(out, found.student).write_bytes(job.earlier)
        _TIMES[job.recipe] += 1
        is_due = _TIMES[job.recipe] == job.grading.record_after + 1
        grading = replace(
            job.grading,
            out=out,
            suite=suite,
            course=job.recipe.course(),
            record=job.grading.record if is_due else None,
            record_after=0,
        )
        # dask's own main module is imported again in every child; have the server do that once.
        (summary,) = grade_all([found], grading, 1, (*job.preload, "dask.__main__"))
        return record_path(out, found.student).read_bytes(), summary.kept


_SUITES: dict[Any, Any] = {}
# How many submissions this worker was given of a run.
_TIMES: Counter[Any] = Counter()


def _suite(recipe: Any, wanted_hash: str) -> Any:
    """The run's suite, made once in a worker's life."""
    with _ONCE:
        if recipe not in _SUITES:
            if (hash_here := recipe.hash()) != wanted_hash:
                raise WrongWorker(
                    f"A worker on {socket.gethostname()} came with another version of the suite "
                    f"({hash_here}, not {wanted_hash})."
                )
            try:
                recipe.require()
            except GraderError as problem:
                raise WrongWorker(f"A worker on {socket.gethostname()}: {problem}") from None
            _SUITES[recipe] = _HELD.enter_context(contextlib.closing(recipe.load(_workplace())))
        return _SUITES[recipe]


# What a worker process holds for its life. A nanny's worker does not run atexit's functions.
_HELD = contextlib.ExitStack()
Finalize(None, _HELD.close, exitpriority=0)


@functools.cache
def _first_workplace() -> Path:
    mode = 0o711  # the sandbox's user must pass through by name
    base = own_folder(Path(tempfile.gettempdir()) / f"kv-cache-homework-{os.geteuid()}", mode)
    for number in range(_MAX_WORKPLACES):
        folder = own_folder(base / str(number), mode)
        with contextlib.suppress(GraderError):  # another worker's
            _HELD.enter_context(results_lock(folder))
            return folder
    raise GraderError(f"No folder in {base} can be locked; the disk may be full.")


def _workplace() -> Path:
    """This worker process's own folder; what a killed one left in it is removed first."""
    with _ONCE:
        return _first_workplace()
