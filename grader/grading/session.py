"""One run of pytest over the suite: the tests ask a worker, and what came of each is collected."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

import numpy as np
import pytest

from assignment.harness import draws, plugin
from assignment.harness.cases import Cases
from assignment.harness.compare import Mismatch
from assignment.harness.extra_parts import file_of
from assignment.harness.memory import MIB, Needed
from assignment.harness.outcome import OUTCOME
from assignment.harness.parts import SERVING_PART
from assignment.harness.student import Backend
from grader.base.errors import GraderError
from grader.base.places import ASSIGNMENT, HIDDEN_TESTS
from grader.base.words import language
from grader.diagnosis.lookup import test_name
from grader.results.record import TestResult
from grader.sandbox import SandboxUnavailable
from grader.sandbox.problems import BudgetExhausted, OutOfRoom
from grader.sandbox.remote import RemoteStudent, Replay

from . import real_model
from .confirm import require_reference
from .result import OUT_OF_BUDGET, result_of, visibility_of, with_remark

# Parts of pytest that cost time in every submission and do nothing for a grade.
UNUSED_PLUGINS = (
    "cacheprovider",
    "doctest",
    "faulthandler",
    "junitxml",
    "logging",
    "terminal",
    "threadexception",
    "unraisableexception",
    "warnings",
)

# Of a submission's time, what the public tests may use. They run first and take three quarters of
# it in right code; a slow submission then loses the last tests of both kinds, and not all hidden
# ones with the points of their public twins.
PUBLIC_SHARE = 0.75

WHOLE = (str(ASSIGNMENT), str(HIDDEN_TESTS))


class Asked(Protocol):
    """What a session asks: which tests, the cases, the real model, and the seeds of what is drawn.

    Attributes:
        part12: whether the extra part's tests run, and no others.
    """

    @property
    def part12(self) -> bool: ...

    @property
    def real_model(self) -> real_model.RealModel | None: ...

    @property
    def case_sets(self) -> dict[str, Cases]: ...

    def seed_of(self, test: str) -> int: ...


class Told(Protocol):
    """Has replies to tests from before, and may be a plugin of pytest's."""

    def replay_of(self, test: str) -> Replay | None: ...


class RemoteBackend:
    """The harness's view of a sandboxed worker (see assignment.harness.student.Backend).

    Attributes:
        confirms: whether answers are compared with the reference, for tests that do not.
        doubt: the first of these that was wrong; a test's own words on it say more.
    """

    def __init__(self, remote: RemoteStudent) -> None:
        self.remote = remote
        self.confirms = False
        self.doubt: Mismatch | None = None

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        result = getattr(self.remote, name)(*args, **kwargs)
        if self.confirms and self.doubt is None:
            try:
                require_reference(name, args, kwargs, result)
            except Mismatch as doubt:
                self.doubt = doubt
        return result, self.remote.last_call_mutated

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        try:
            result = self.remote.call_within(name, args, room_mib * MIB)
        except OutOfRoom:
            return Needed(None, room_mib, at_least=True)
        return Needed(result, 0.0, is_known=not self.remote.last_call_unlimited)


class GradingSession:
    """A pytest plugin: hands the worker and the cases to the tests and collects results."""

    def __init__(
        self, suite: Asked, backend: RemoteBackend | None, told: Told | None = None
    ) -> None:
        self.suite = suite
        self.backend = backend
        self.told = told
        self.results: list[TestResult] = []
        self.items: list[pytest.Function] = []
        self.problem: Exception | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.BACKEND] = cast(Backend, self.backend)  # None where nothing runs
        names: dict[str, Cases] = {"public": {}, "hidden": {}}
        config.stash[plugin.CASE_SETS] = self.suite.case_sets if self.backend else names
        # Nobody reads pytest's own tracebacks here, and making one takes longer than a test.
        config.option.tbstyle = "value"

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        items[:] = [item for item in items if self._wanted(item)]
        self.items = list(items)
        items.sort(key=turn_of)
        if self.backend is None:
            self.results = [result_of(item, outcome=None) for item in self.items]

    @property
    def _remote(self) -> RemoteStudent:
        assert self.backend is not None  # where tests run and are not only collected
        return self.backend.remote

    def _wanted(self, item: pytest.Function) -> bool:
        """Hidden tests have no public cases, and the real model may not be there."""
        if "real_model" in item.fixturenames and self.suite.real_model is None:
            return False
        return visibility_of(item) == "hidden" or item.path.parent != HIDDEN_TESTS

    @pytest.fixture
    def real_model(self) -> SimpleNamespace:
        model = self.suite.real_model
        assert model is not None  # else the tests that ask for it were left out
        params = self._remote.mapped_params(real_model.MAPPED_NAME)
        return SimpleNamespace(config=model.config, params=params, **model.expected())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, object, object]:
        assert self.backend is not None
        remote = self._remote
        self.backend.confirms, self.backend.doubt = "oracle" not in item.fixturenames, None
        share = PUBLIC_SHARE if visibility_of(item) == "public" else 1.0
        replay = self.told.replay_of(test_name(item)) if self.told is not None else None
        remote.begin_test(share, replay)
        started = time.monotonic()
        test, seed = item.obj, self.suite.seed_of(test_name(item))
        if visibility_of(item) == "public":
            item.obj = draws.at_home_and_drawn(test, seed)
            handled = yield
        else:
            with draws.draws_of(test, seed):
                handled = yield
        item.obj = test
        outcome = item.stash.get(OUTCOME, None)
        result = result_of(item, outcome, time.monotonic() - started)
        self.results.append(with_remark(result))
        if self.problem is not None:
            item.session.shouldstop = str(self.problem)
        return handled

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Generator[None, object, object]:
        assert self.backend is not None
        called = yield
        if self.backend.doubt is not None:
            raise self.backend.doubt
        return called

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Function, call: pytest.CallInfo
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell apart the student's failures, a used-up budget and our own."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, SandboxUnavailable | plugin.NoSuchCase):
            self.problem = error
        elif error is not None and call.when != "call":
            self.problem = GraderError(f"setting up {item.nodeid} failed: {error!r}")
        item.stash[OUT_OF_BUDGET] = item.stash.get(OUT_OF_BUDGET, False) or isinstance(
            error, BudgetExhausted
        )
        return report


class TrustedSession(GradingSession):
    """Runs the `wanted` tests only."""

    def __init__(
        self, suite: Asked, backend: RemoteBackend, wanted: set[str], told: Told | None = None
    ) -> None:
        super().__init__(suite, backend, told)
        self.wanted = wanted

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Importing and reading all test files takes as long as many a part's tests."""
        wanted_files = {test.partition("::")[0] for test in self.wanted}
        unwanted = collection_path.is_file() and collection_path.name not in wanted_files
        return True if unwanted else None

    def _wanted(self, item: pytest.Function) -> bool:
        return test_name(item) in self.wanted and super()._wanted(item)


def turn_of(item: pytest.Function) -> int:
    """Public cases first, then tests that draw their own examples, then hidden cases.

    A worker remembers what it was given, and the words of exceptions in public tests are shown to
    students: they are all said before the first hidden input is sent.
    """
    if visibility_of(item) == "hidden":
        return 2
    return 0 if "oracle" in item.fixturenames else 1


def run_to_end(session: GradingSession) -> None:
    exit_code = run_pytest(session)
    if session.problem is not None:
        raise session.problem
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise GraderError(f"pytest ended with {exit_code!r}; see the harness log")
    collected = {test_name(item): place for place, item in enumerate(session.items)}
    session.results.sort(key=lambda result: collected[result.id])


def run_pytest(session: GradingSession, *options: str) -> int:
    # Plugins that happen to be installed here must not change a grade.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = [
        "--noconftest",  # its plugin is loaded by name instead, for hidden tests too
        f"--rootdir={ASSIGNMENT.parent}",
        f"--confcutdir={ASSIGNMENT}",
        "-c/dev/null",
        *(f"-pno:{name}" for name in UNUSED_PLUGINS),
        "--capture=no",
        "--assert=plain",
        f"--lang={language()}",  # else the plugin would choose anew, by the locale
        *options,
        *([str(ASSIGNMENT / file_of(SERVING_PART))] if session.suite.part12 else WHOLE),
    ]
    return pytest.main(
        arguments, plugins=[plugin, session, *([session.told] if session.told is not None else [])]
    )
