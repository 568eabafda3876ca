"""The tests and their cases, what all submissions of a run have in common.

The tests are the ones a student runs; here `student` is a sandboxed worker behind a pipe, and
tests that ask for `oracle` run a second time on cases only the grader knows.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import hypothesis
import platformdirs
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

from assignment.harness.cases import GOLDEN_FILE, Cases, load_cases
from assignment.harness.exercises import ANSWERS_FILE
from assignment.harness.parts import GIVEN_FILES
from grader.authoring import golden
from grader.base.errors import GraderError
from grader.base.places import ASSIGNMENT, GRADER, HIDDEN_TESTS, REFERENCE, SOLUTION
from grader.base.seeds import derive_seed
from grader.results.disk import SCRATCH_PREFIX
from grader.results.record import TestResult

from . import real_model
from .recording import Recording, read_recording
from .result import visibility_of
from .session import GradingSession, run_pytest

SUITE_VERSION = "1"

# hypothesis keeps notes on the code it runs, by default in whatever folder one stands in.
set_hypothesis_home_dir(platformdirs.user_cache_path("kv-cache-homework") / "hypothesis")


@dataclass(frozen=True)
class Suite:
    """What all submissions of a run have in common; travels to the children as paths.

    Attributes:
        hidden_cases: a file only this user can read, removed by `close`.
        hash: changes when anything changes that could change a result.
        draws: what the examples of tests without cases are drawn by, see `seed_of`.
        blank_tests: every test without points, what a student who handed in nothing gets.
        part12: whether this is the extra part's tests, and no others.
    """

    hidden_cases: Path
    real_model: real_model.RealModel | None
    hash: str
    draws: bytes = field(default=b"", repr=False)
    blank_tests: tuple[TestResult, ...] = ()
    part12: bool = False

    @classmethod
    def load(
        cls, secret: bytes, with_real_model: bool | None, scratch: Path, part12: bool = False
    ) -> Suite:
        """Compute the hidden cases of a secret.

        Args:
            with_real_model: None takes the real model if it is installed.
            part12: the extra part alone, which asks nothing of the real model.
            scratch: where the hidden cases may lie during the run: the results folder, whose
                next user removes what a killed run left there.

        Raises:
            GraderError: the real model is asked for and not installed.
        """
        model = None
        if with_real_model is not False and not part12:
            model = real_model.prepare(secret, SUITE_VERSION)
        if with_real_model and model is None and not part12:
            raise GraderError(
                "The real model is not installed. Fetch it with `python -m reference_model.smollm2`"
                " (93 MB), or leave out --real-model."
            )
        folder = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}hidden-", dir=scratch.resolve()))
        hidden_cases = folder / "cases.safetensors"
        seed = derive_seed(secret, SUITE_VERSION, "cases")
        hidden_cases.write_bytes(golden.to_bytes(golden.make_cases(seed, with_hidden=True)))
        draws_key = derive_seed(secret, SUITE_VERSION, "draws").to_bytes(8, "big")
        digest = suite_hash(secret, model is not None, part12)
        suite = cls(hidden_cases, model, digest, draws_key, part12=part12)
        return replace(suite, blank_tests=tuple(collect(suite)))

    def close(self) -> None:
        """Remove the hidden cases."""
        shutil.rmtree(self.hidden_cases.parent, ignore_errors=True)

    def hash_now(self, secret: bytes) -> str:
        """The hash of the files as they are on disk by now."""
        return suite_hash(secret, self.real_model is not None, self.part12)

    def seed_of(self, test: str) -> int:
        """What a test draws its own examples by: unknown to students, the same for all."""
        return derive_seed(self.draws, SUITE_VERSION, test)

    @property
    def recording_folder(self) -> Path:
        return self.hidden_cases.parent / "recording"

    @cached_property
    def recording(self) -> Recording | None:
        """What the tests ask of the solution, if that was recorded (see rehearsal.py)."""
        return read_recording(self.recording_folder)

    def unrecorded(self) -> Suite:
        """The same suite without its recording."""
        suite = replace(self)
        vars(suite)["recording"] = None
        return suite

    @property
    def case_sets(self) -> dict[str, Cases]:
        return {"public": load_cases(), "hidden": load_cases(self.hidden_cases)}

    @property
    def mapped_files(self) -> dict[str, Path]:
        """Large files a worker may map: they are too large for the pipe."""
        return {real_model.MAPPED_NAME: self.real_model.weights} if self.real_model else {}


def suite_hash(secret: bytes, with_real_model: bool = False, part12: bool = False) -> str:
    """A digest of the tests, the given code, the reference and the secret."""
    digest = hashlib.sha256(
        f"{SUITE_VERSION} {hypothesis.__version__} {with_real_model} {part12} ".encode()
        + hashlib.sha256(secret).digest()
    )
    for path in _sources():
        digest.update(f"\n{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> list[Path]:
    return [
        *sorted(ASSIGNMENT.glob("test_*.py")),
        *sorted((ASSIGNMENT / "harness").glob("*.py")),
        *sorted((ASSIGNMENT / "harness").glob("*.toml")),
        *(ASSIGNMENT / name for name in GIVEN_FILES if (ASSIGNMENT / name).exists()),
        *sorted(SOLUTION.glob("*.py")),
        GOLDEN_FILE,
        ANSWERS_FILE,
        *sorted(HIDDEN_TESTS.glob("*.py")),
        *sorted((GRADER / "authoring" / "cases").glob("*.py")),
        *sorted((GRADER / "authoring" / "exercises").glob("*.*")),
        *sorted(REFERENCE.glob("*.py")),
        *sorted((REFERENCE / "accounting").glob("*.py")),
        *sorted((REFERENCE / "word2vec").glob("*.py")),
    ]


def collect(suite: Suite) -> list[TestResult]:
    """All tests, without points; nothing runs."""
    session = GradingSession(suite, backend=None)
    run_pytest(session, "--collect-only")
    return session.results


def collect_all(suite: Suite) -> tuple[list[pytest.Function], dict[str, Cases]]:
    """The collected tests and their cases, for running them here on something trusted."""
    session = GradingSession(suite, backend=None)
    run_pytest(session, "--collect-only")
    return session.items, suite.case_sets


def collect_public(part12: bool = False) -> tuple[list[pytest.Function], dict[str, Cases]]:
    """As collect_all, the public cases alone."""
    suite = Suite(hidden_cases=Path(), real_model=None, hash="", part12=part12)
    session = GradingSession(suite, backend=None)
    run_pytest(session, "--collect-only")
    items = [item for item in session.items if visibility_of(item) == "public"]
    return items, {"public": load_cases()}
