"""What became of one test, in terms of the homework instead of pytest's."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from .compare import Mismatch
from .points import Grading, grading_of
from .student import ImportFailure, NotStarted, not_started

PASSED, FAILED, NOT_STARTED, WAITING = "passed", "failed", "not_started", "waiting"

_NOT_THEIRS = ("test_", "conftest", "transformer")  # the innermost line a student can change


@dataclass(frozen=True)
class Outcome:
    """The result of one test.

    Attributes:
        state: passed, failed, not_started (its own part's stub was reached) or waiting (a stub
            of another part was).
        message: for a failure, what was found and expected; else which stub was reached.
        test: pytest's node id, as in "assignment/test_part3_rope.py::test_rope[public-float64]".
        where: of the message, the line that says where the answer is first wrong.
        needs: section and name of the stub that was reached, as in "3.2 apply_rope".
        import_failure: why a file of the student's could not be imported, where that failed it.
    """

    test: str
    grading: Grading
    state: str
    message: str = ""
    where: str = ""
    needs: str = ""
    import_failure: ImportFailure | None = None
    first_bad: dict[str, int] = field(default_factory=dict)
    max_error: float | None = None
    tolerance: float | None = None
    got: np.ndarray | None = None
    error_by_step: tuple[float, ...] = ()

    @property
    def points(self) -> float:
        return self.grading.points if self.state == PASSED else 0.0


# Where a test's outcome is kept: on the item.
OUTCOME = pytest.StashKey[Outcome | None]()


def outcome_of(item: pytest.Item, error: BaseException | None) -> Outcome | None:
    """The outcome of a test that raised `error` (None: it passed); None if it grades nothing."""
    grading = grading_of(item)
    if grading is None:
        return None
    if error is None:
        return Outcome(item.nodeid, grading, PASSED)
    if isinstance(error, NotImplementedError):
        error = not_started(error)
    if isinstance(error, NotStarted):
        state = NOT_STARTED if error.part in (grading.part, 0) else WAITING
        needs = f"{error.section} {error.function}"
        return Outcome(item.nodeid, grading, state, str(error), needs=needs)
    if isinstance(error, Mismatch):
        return Outcome(
            item.nodeid,
            grading,
            FAILED,
            str(error),
            where=error.where,
            first_bad=error.first_bad,
            max_error=error.max_error,
            tolerance=error.tolerance,
            got=error.got,
            error_by_step=error.error_by_step,
        )
    failure = getattr(error, "failure", None)
    return Outcome(
        item.nodeid,
        grading,
        FAILED,
        _describe(error),
        import_failure=failure if isinstance(failure, ImportFailure) else None,
    )


def _describe(error: BaseException) -> str:
    """An exception in the student's code: type, message and where."""
    where = getattr(error, "student_where", None) or _innermost_student_line(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{text}\n{where}" if where else text


def _innermost_student_line(error: BaseException) -> str:
    """`kv_cache.py:31 in prefill: x = model.embed(token)`, from the traceback of a local run."""
    frames = traceback.extract_tb(error.__traceback__)
    homework = [f for f in frames if (Path(f.filename).parent / "transformer.py").exists()]
    students = [f for f in homework if not Path(f.filename).name.startswith(_NOT_THEIRS)]
    if not students:
        return ""
    frame = students[-1]
    return f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}: {frame.line}"
