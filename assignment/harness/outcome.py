"""What became of one test, in terms of the homework instead of pytest's."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from .chain import chain, ended_early
from .compare import Mismatch
from .difference import Difference
from .limit import RaisedInterrupt, TookTooLong
from .points import Grading, grading_of
from .remarks import said
from .shown import SideBySide
from .student import ImportFailure, NotStarted, not_started

PASSED, FAILED, NOT_STARTED, WAITING = "passed", "failed", "not_started", "waiting"


@dataclass(frozen=True)
class Outcome:
    """The result of one test.

    Attributes:
        state: passed, failed, not_started (its own part's stub was reached) or waiting (a stub
            of another part was).
        message: for a failure, what was found and expected; of a test that passed, what is to be
            said of it nevertheless; else which stub was reached.
        test: pytest's node id, as in "assignment/test_part3_rope.py::test_rope[public-float64]".
        where: of the message, the line that says where the answer is first wrong.
        needs: section and name of the stub that was reached, as in "3.2 apply_rope".
        import_failure: why a file of the student's could not be imported, where that failed it.
        side_by_side: what was got and expected, where that is small.
        difference: which entries of the array are wrong.
        printed: what the student's code printed, bounded; of a run at home only.
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
    side_by_side: SideBySide | None = None
    difference: Difference | None = None
    printed: str = ""

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
        return Outcome(item.nodeid, grading, PASSED, said())
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
            side_by_side=error.side_by_side,
            difference=error.difference,
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
    """An exception in the student's code: type, message and the lines that led to it."""
    if isinstance(error, RaisedInterrupt) and error.__cause__ is not None:
        error = error.__cause__
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, TookTooLong):
        text = str(error)
    where = getattr(error, "student_where", None)
    if where:
        return f"{text}\n{where}"
    return "\n".join([ended_early(error) or text, *chain(error)])
