"""What a run at home has and grading has not: a limit on calls, prints, and several processes.

Outcomes travel on pytest's reports, so that the table is the same where pytest-xdist runs the tests
in processes of their own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Generator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from .difference import Difference
from .limit import CallLimit
from .outcome import FAILED, OUTCOME, PASSED, Outcome
from .parts import TORCH_PART
from .points import Grading
from .shown import SideBySide
from .student import ImportFailure
from .summary import Summary

# Compiling takes torch a minute and more.
PATIENCE = {TORCH_PART.number: 10.0}
MAX_PRINTED_LINES, MAX_PRINTED_COLUMNS = 8, 160
AT_HOME = "homework-at-home"


class AtHome:
    """A pytest plugin that keeps the outcomes of a student's run, in the order of the tests."""

    def __init__(self, limit: CallLimit) -> None:
        self.limit = limit
        self._outcomes: dict[str, Outcome] = {}
        self._order: list[str] = []

    @property
    def outcomes(self) -> list[Outcome]:
        """Of the tests that have run."""
        place = {test: n for n, test in enumerate(self._order)}
        return sorted(self._outcomes.values(), key=lambda o: place.get(o.test, len(place)))

    @property
    def n_left(self) -> int:
        """How many of the collected tests have not run."""
        return len(self._order) - len(self._outcomes)

    @property
    def summary(self) -> Summary:
        """What there is to say of the tests that have run."""
        return Summary(self.outcomes, whole=not self.n_left)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Plugins that shuffle tests would shuffle the table, and what is told first."""
        place = {item: n for n, item in enumerate(items)}
        result = yield
        items.sort(key=lambda item: (place_in_table(item), place[item]))
        return result

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._order = [item.nodeid for item in session.items]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Each process collects all tests."""
        self._order = list(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        mark = item.get_closest_marker("graded")
        part = int(mark.args[0].split(".")[0]) if mark else 0
        with self.limit.test(PATIENCE.get(part, 1.0)):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of what makes the outcome
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        outcome = item.stash.get(OUTCOME, None)
        if outcome is not None and (report.when == "call" or call.excinfo is not None):
            if outcome.state == FAILED:
                outcome = replace(outcome, printed=bounded(report.capstdout))
            report.homework_outcome = packed(outcome)  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = getattr(report, "homework_outcome", None)
        if text is not None and report.when != "teardown":
            self._outcomes[report.nodeid] = unpacked(text)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Not done is not green: a stub that was reached makes the exit code non-zero."""
        unfinished = any(outcome.state != PASSED for outcome in self._outcomes.values())
        if unfinished and session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)


def place_in_table(item: pytest.Item) -> float:
    """By the number in the file's name, which sorts part 11 before part 1; other files behind."""
    found = re.match(r"test_part(\d+)_", item.path.name)
    return int(found[1]) if found else math.inf


def bounded(printed: str) -> str:
    """The first lines of what a test printed."""
    lines = printed.strip("\n").splitlines()
    shown = [
        line if len(line) <= MAX_PRINTED_COLUMNS else line[: MAX_PRINTED_COLUMNS - 1] + "…"
        for line in lines[:MAX_PRINTED_LINES]
    ]
    return "\n".join([*shown, "…"] if len(lines) > MAX_PRINTED_LINES else shown)


def packed(outcome: Outcome) -> str:
    """An outcome as JSON, which every plugin can hand on."""
    return json.dumps(asdict(outcome), default=_plain)


def unpacked(text: str) -> Outcome:
    """The outcome again."""
    fields = json.loads(text, object_hook=_array)
    grading = fields["grading"]
    names = {name: tuple(grading[name]) for name in ("needs", "beside")}
    fields["grading"] = Grading(**grading | names)
    fields["error_by_step"] = tuple(fields["error_by_step"])
    for name, kind in _KINDS.items():
        if fields[name] is not None:
            fields[name] = kind(**fields[name])
    return Outcome(**fields)


def _difference(**fields: Any) -> Difference:
    tuples = {name: tuple(fields[name]) for name in ("axes", "shape")}
    nested = {name: tuple(map(tuple, fields[name])) for name in ("levels", "wrong_at")}
    return Difference(**fields | tuples | nested)


# What an outcome has beside plain values.
_KINDS: dict[str, Callable[..., object]] = {
    "import_failure": ImportFailure,
    "side_by_side": SideBySide,
    "difference": _difference,
}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "shape": value.shape, "flat": value.ravel().tolist()}
    return value.item()  # a number of numpy's


def _array(content: dict) -> Any:
    if set(content) != {"dtype", "shape", "flat"}:
        return content
    return np.array(content["flat"], dtype=content["dtype"]).reshape(content["shape"])
