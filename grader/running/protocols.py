"""What grading needs of a suite, of its outcome and of what runs it: shapes, and no code.

grader.grading has the real ones. A stand-in in a test has to offer the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from grader.results.record import DiagnosisRecord, SandboxKind, TestResult
from grader.sandbox import Limits


@runtime_checkable
class GradingSuite(Protocol):
    """What all submissions of a run have in common. Travels to the children."""

    @property
    def blank_tests(self) -> Sequence[TestResult]:
        """Every test without points: what a student who handed in nothing gets."""

    @property
    def real_model(self) -> object | None:
        """The trained model that some tests need, or None where the run is without it."""

    def hash_now(self, secret: bytes) -> str:
        """A digest of the suite as it is on disk by now."""

    def close(self) -> None:
        """Remove what the suite keeps on disk."""


@runtime_checkable
class Outcome(Protocol):
    """All that came of one submission's tests."""

    @property
    def tests(self) -> Sequence[TestResult]: ...

    @property
    def sandbox(self) -> SandboxKind:
        """The kind of sandbox that the submission ran in."""

    @property
    def tier(self) -> str:
        """That sandbox in words, with what it lacked here."""

    @property
    def worker_notes(self) -> str:
        """The end of what the submission printed."""

    @property
    def diagnoses(self) -> Sequence[DiagnosisRecord]: ...

    @property
    def generated_text(self) -> str:
        """What the real model writes with a decode that is wrong there, else empty."""

    @property
    def expected_text(self) -> str: ...


SuiteT = TypeVar("SuiteT", bound=GradingSuite)
_RunSuiteT = TypeVar("_RunSuiteT", bound=GradingSuite, contravariant=True)


class Backend(Protocol[_RunSuiteT]):
    """Runs a suite on one prepared submission, in a process of its own."""

    def __call__(
        self, suite: _RunSuiteT, prepared: Path, sandbox_name: str, limits: Limits, slot: int, /
    ) -> Outcome: ...


class Record(Protocol[_RunSuiteT]):
    """Notes once for all submissions what a suite asks, in a process of its own."""

    def __call__(
        self, suite: _RunSuiteT, sandbox_name: str, limits: Limits, slot: int, /
    ) -> None: ...
