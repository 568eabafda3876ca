"""Run the whole suite, public and hidden, on one prepared submission.

The tests are the ones a student runs; here `student` is a sandboxed worker behind a pipe, and
tests that ask for `oracle` run a second time on cases only the grader knows.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import hypothesis
import numpy as np
import platformdirs
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

from assignment.harness import draws, plugin, told
from assignment.harness.cases import GOLDEN_FILE, Cases, load_cases
from assignment.harness.exercises import ANSWERS_FILE
from assignment.harness.memory import MIB, Needed
from assignment.harness.outcome import FAILED, OUTCOME, Outcome
from assignment.harness.parts import GIVEN_FILES
from assignment.harness.points import Ran, grading_of, hanging, until_right
from assignment.harness.student import Backend
from grader.authoring import golden
from grader.base.errors import GraderError
from grader.base.places import ASSIGNMENT, GRADER, HIDDEN_TESTS, REFERENCE, SOLUTION
from grader.base.seeds import derive_seed
from grader.base.words import language, tr
from grader.diagnosis.lookup import diagnose_outcomes, test_name
from grader.results.disk import SCRATCH_PREFIX
from grader.results.record import (
    CaseSet,
    DiagnosisRecord,
    ImportFailure,
    SandboxKind,
    TestResult,
    TestState,
    TwinKey,
    Visibility,
)
from grader.sandbox import Limits, Sandbox, SandboxUnavailable, choose_sandbox
from grader.sandbox.remote import BudgetExhausted, OutOfRoom, RemoteStudent

from . import real_model, second_run
from .confirm import require_reference

SUITE_VERSION = "1"

# hypothesis keeps notes on the code it runs, by default in whatever folder one stands in.
set_hypothesis_home_dir(platformdirs.user_cache_path("kv-cache-homework") / "hypothesis")

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


@dataclass(frozen=True)
class Suite:
    """What all submissions of a run have in common; travels to the children as paths.

    Attributes:
        hidden_cases: a file only this user can read, removed by `close`.
        hash: changes when anything changes that could change a result.
        draws: what the examples of tests without cases are drawn by, see `seed_of`.
        blank_tests: every test without points, what a student who handed in nothing gets.
    """

    hidden_cases: Path
    real_model: real_model.RealModel | None
    hash: str
    draws: bytes = field(default=b"", repr=False)
    blank_tests: tuple[TestResult, ...] = ()

    @classmethod
    def load(cls, secret: bytes, with_real_model: bool | None, scratch: Path) -> Suite:
        """Compute the hidden cases of a secret.

        Args:
            with_real_model: None takes the real model if it is installed.
            scratch: where the hidden cases may lie during the run: the results folder, whose
                next user removes what a killed run left there.

        Raises:
            GraderError: the real model is asked for and not installed.
        """
        model = None
        if with_real_model is not False:
            model = real_model.prepare(secret, SUITE_VERSION)
        if with_real_model and model is None:
            raise GraderError(
                "The real model is not installed. Fetch it with `python -m reference_model.smollm2`"
                " (93 MB), or leave out --real-model."
            )
        folder = Path(tempfile.mkdtemp(prefix=f"{SCRATCH_PREFIX}hidden-", dir=scratch.resolve()))
        hidden_cases = folder / "cases.safetensors"
        seed = derive_seed(secret, SUITE_VERSION, "cases")
        hidden_cases.write_bytes(golden.to_bytes(golden.make_cases(seed, with_hidden=True)))
        draws_key = derive_seed(secret, SUITE_VERSION, "draws").to_bytes(8, "big")
        suite = cls(hidden_cases, model, suite_hash(secret, model is not None), draws_key)
        return replace(suite, blank_tests=tuple(collect(suite)))

    def close(self) -> None:
        """Remove the hidden cases."""
        shutil.rmtree(self.hidden_cases.parent, ignore_errors=True)

    def hash_now(self, secret: bytes) -> str:
        """The hash of the files as they are on disk by now."""
        return suite_hash(secret, self.real_model is not None)

    def seed_of(self, test: str) -> int:
        """What a test draws its own examples by: unknown to students, the same for all."""
        return derive_seed(self.draws, SUITE_VERSION, test)

    @property
    def case_sets(self) -> dict[str, Cases]:
        return {"public": load_cases(), "hidden": load_cases(self.hidden_cases)}

    @property
    def mapped_files(self) -> dict[str, Path]:
        """Large files a worker may map: they are too large for the pipe."""
        return {real_model.MAPPED_NAME: self.real_model.weights} if self.real_model else {}


@dataclass(frozen=True)
class SuiteOutcome:
    """All tests of one submission, the sandbox they ran in (its kind, and that in words) and what
    the submission printed."""

    tests: list[TestResult]
    sandbox: SandboxKind
    tier: str
    seconds: float
    worker_notes: str
    diagnoses: tuple[DiagnosisRecord, ...] = ()
    generated_text: str = ""
    expected_text: str = ""


def suite_hash(secret: bytes, with_real_model: bool = False) -> str:
    """A digest of the tests, the given code, the reference and the secret."""
    digest = hashlib.sha256(
        f"{SUITE_VERSION} {hypothesis.__version__} {with_real_model} ".encode()
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


def run_suite(
    suite: Suite, prepared: Path, sandbox_name: str, limits: Limits, slot: int
) -> SuiteOutcome:
    """Run every test on one submission; called in a process of its own.

    Raises:
        SandboxUnavailable: no worker can be started. That is the grader's failure, not a zero.
        GraderError: pytest itself failed.
    """
    started = time.monotonic()
    sandbox = choose_sandbox(sandbox_name)
    with RemoteStudent(sandbox, prepared, limits, slot, suite.mapped_files) as remote:
        session = GradingSession(suite, RemoteBackend(remote))
        _run_to_end(session)
        seconds_used = remote.seconds_used
        texts = _texts(suite, remote, session.results)
        remote.close()  # a second worker of this slot counts against the same limits
        tests = second_run.with_trusted_parts(
            with_twin_rule(session.results),
            partial(_run_again, suite, sandbox, prepared, limits, slot),
            limits.total_seconds - seconds_used,
        )
        tests = with_needs(tests, session.items)
        return SuiteOutcome(
            tests,
            cast(SandboxKind, sandbox.kind),
            sandbox.tier,
            time.monotonic() - started,
            remote.output_tail(),
            _diagnosed(session, tests),
            *texts,
        )


def _texts(suite: Suite, remote: RemoteStudent, results: list[TestResult]) -> tuple[str, str]:
    """What the real model writes with a decode that is wrong there, and with a right one.

    A right decode writes the right text, and that need not be waited for.
    """
    model = suite.real_model
    states = {test.state for test in results if test.is_of_real_model}
    if model is None or model.text is None or not states & {"passed", "failed"}:
        return "", ""
    text = model.text
    if "failed" not in states:
        return "", text.expected
    remote.close()  # the words that come must be of a worker that has seen nothing hidden
    remote.begin_test("text")
    params = remote.mapped_params(real_model.MAPPED_NAME)
    return text.of(remote, model.config, params), text.expected


def _diagnosed(session: GradingSession, results: list[TestResult]) -> tuple[DiagnosisRecord, ...]:
    """What the failures on the public cases equal."""
    outcomes = [
        (item, outcome)
        for item in session.items
        if _visibility(item) == "public" and (outcome := item.stash.get(OUTCOME, None))
    ]
    return tuple(
        DiagnosisRecord(
            part=found.part,
            bugs=found.alternatives,
            n_tests=found.n_tests,
            error=found.error,
            mend_first=found.mend_first,
            fact=told.fact(found),
        )
        for found in diagnose_outcomes(outcomes, {"public": load_cases()}, results)
    )


def _run_to_end(session: GradingSession) -> None:
    exit_code = _run_pytest(session)
    if session.problem is not None:
        raise session.problem
    if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise GraderError(f"pytest ended with {exit_code!r}; see the harness log")
    collected = {test_name(item): place for place, item in enumerate(session.items)}
    session.results.sort(key=lambda result: collected[result.id])


def _run_again(
    suite: Suite,
    sandbox: Sandbox,
    prepared: Path,
    limits: Limits,
    slot: int,
    part: int,
    wanted: set[str],
    seconds: float,
) -> tuple[list[TestResult], float]:
    """Some tests of one part with trusted versions of all others (see second_run.RunAgain)."""
    with RemoteStudent(
        sandbox,
        prepared,
        replace(limits, total_seconds=seconds),
        slot,
        suite.mapped_files,
        trusted=second_run.trusted_parts(part),
        max_strikes=second_run.MAX_STRIKES,
    ) as remote:
        session = TrustedSession(suite, RemoteBackend(remote), wanted)
        _run_to_end(session)
        return with_twin_rule(session.results), remote.seconds_used


def with_twin_rule(results: list[TestResult]) -> list[TestResult]:
    """A public case earns its points only where the same test passes on the hidden case.

    The public cases come with their answers: a table of them would pass otherwise.
    """
    confirmed = {
        result.twin_key
        for result in results
        if result.case_set == "hidden" and result.state == "passed"
    }
    return [_unless_twin_failed(result, confirmed) for result in results]


def _unless_twin_failed(result: TestResult, confirmed: set[TwinKey]) -> TestResult:
    if result.case_set != "public" or result.state != "passed" or result.twin_key in confirmed:
        return result
    message = tr("right on the public case and wrong on a hidden one of the same kind")
    return result.model_copy(update={"state": "failed", "points": 0.0, "message": message})


def with_needs(results: list[TestResult], items: list[pytest.Function]) -> list[TestResult]:
    """A test earns its points only where the tests that it hangs on are right (see `graded`)."""
    gradings = {test_name(item): grading for item in items if (grading := grading_of(item))}
    ran = [
        Ran(r.id, gradings[r.id], r.state == "passed", r.with_trusted_parts)
        for r in results
        if r.state != "out_of_time"
    ]
    # A submission can raise the stub's own words where it likes: "not started" is no proof either.
    unfinished = {r.id for r in results if r.state not in ("passed", "failed")}
    held = {test: needed for test, needed in hanging(ran).items() if test not in unfinished}
    return [
        result.model_copy(
            update={
                "state": "waiting",
                "points": 0.0,
                "message": until_right(held[result.id]),
                "with_trusted_parts": False,
            }
        )
        if result.id in held
        else result
        for result in results
    ]


def collect(suite: Suite) -> list[TestResult]:
    """All tests, without points; nothing runs."""
    session = GradingSession(suite, backend=None)
    _run_pytest(session, "--collect-only")
    return session.results


def collect_all(suite: Suite) -> tuple[list[pytest.Function], dict[str, Cases]]:
    """The collected tests and their cases, for running them here on something trusted."""
    session = GradingSession(suite, backend=None)
    _run_pytest(session, "--collect-only")
    return session.items, suite.case_sets


def collect_public() -> tuple[list[pytest.Function], dict[str, Cases]]:
    """As collect_all, the public cases alone."""
    session = GradingSession(Suite(hidden_cases=Path(), real_model=None, hash=""), backend=None)
    _run_pytest(session, "--collect-only")
    items = [item for item in session.items if _visibility(item) == "public"]
    return items, {"public": load_cases()}


def _run_pytest(session: GradingSession, *options: str) -> int:
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
        str(ASSIGNMENT),
        str(HIDDEN_TESTS),
    ]
    return pytest.main(arguments, plugins=[plugin, session])


class RemoteBackend:
    """The harness's view of a sandboxed worker (see assignment.harness.student.Backend).

    Attributes:
        confirms: whether answers are compared with the reference, for tests that do not.
    """

    def __init__(self, remote: RemoteStudent) -> None:
        self.remote = remote
        self.confirms = False

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        result = getattr(self.remote, name)(*args, **kwargs)
        if self.confirms:
            require_reference(name, args, kwargs, result)
        return result, self.remote.last_call_mutated

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        try:
            result = self.remote.call_within(name, args, room_mib * MIB)
        except OutOfRoom:
            return Needed(None, room_mib, at_least=True)
        return Needed(result, 0.0, is_known=not self.remote.last_call_unlimited)


class GradingSession:
    """A pytest plugin: hands the worker and the cases to the tests and collects results."""

    def __init__(self, suite: Suite, backend: RemoteBackend | None) -> None:
        self.suite = suite
        self.backend = backend
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
        items.sort(key=_turn)
        if self.backend is None:
            self.results = [_result_of(item, outcome=None) for item in items]

    @property
    def _remote(self) -> RemoteStudent:
        assert self.backend is not None  # where tests run and are not only collected
        return self.backend.remote

    def _wanted(self, item: pytest.Function) -> bool:
        """Hidden tests have no public cases, and the real model may not be there."""
        if "real_model" in item.fixturenames and self.suite.real_model is None:
            return False
        return _visibility(item) == "hidden" or item.path.parent != HIDDEN_TESTS

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
        self.backend.confirms = "oracle" not in item.fixturenames
        share = PUBLIC_SHARE if _visibility(item) == "public" else 1.0
        remote.begin_test(item.nodeid, share)
        started = time.monotonic()
        with draws.draws_of(item.obj, self.suite.seed_of(test_name(item))):
            handled = yield
        outcome = item.stash.get(OUTCOME, None)
        result = _result_of(item, outcome, time.monotonic() - started)
        self.results.append(_with_remark(result))
        if self.problem is not None:
            item.session.shouldstop = str(self.problem)
        return handled

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

    def __init__(self, suite: Suite, backend: RemoteBackend, wanted: set[str]) -> None:
        super().__init__(suite, backend)
        self.wanted = wanted

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Importing and reading all test files takes as long as many a part's tests."""
        wanted_files = {test.partition("::")[0] for test in self.wanted}
        unwanted = collection_path.is_file() and collection_path.name not in wanted_files
        return True if unwanted else None

    def _wanted(self, item: pytest.Function) -> bool:
        return test_name(item) in self.wanted and super()._wanted(item)


OUT_OF_BUDGET = pytest.StashKey[bool]()


def _result_of(item: pytest.Function, outcome: Outcome | None, seconds: float = 0.0) -> TestResult:
    grading = grading_of(item)
    if grading is None:
        raise GraderError(f"The test {test_name(item)} has no points; mark it with `graded`.")
    state, message = (outcome.state, outcome.message) if outcome else ("not_started", "")
    if item.stash.get(OUT_OF_BUDGET, False) and state == FAILED:
        state = "out_of_time"
    return TestResult(
        id=test_name(item),
        file=item.path.name,
        function=item.originalname,
        case_set=_case_set(item),
        case=_case(item),
        part=grading.part,
        section=grading.section,
        title=grading.title,
        variant=grading.variant,
        visibility=_visibility(item),
        points=outcome.points if outcome else 0.0,
        max_points=grading.points,
        state=cast(TestState, state),
        message=message,
        where=outcome.where if outcome else "",
        import_failure=_import_failure(outcome),
        first_bad_step=outcome.first_bad.get("step") if outcome else None,
        max_error=outcome.max_error if outcome else None,
        tolerance=outcome.tolerance if outcome else None,
        error_by_step=_error_by_step(item, outcome),
        seconds=seconds,
    )


def _import_failure(outcome: Outcome | None) -> ImportFailure | None:
    failure = outcome.import_failure if outcome else None
    return ImportFailure(**asdict(failure)) if failure else None


def _with_remark(result: TestResult) -> TestResult:
    """A student who runs a failing test at home may see it pass: its examples are others there."""
    remark = draws.remark()
    if not remark or result.state != FAILED or result.visibility != "public":
        return result
    return result.model_copy(update={"message": f"{result.message}\n{remark}"})


def _turn(item: pytest.Function) -> int:
    """Public cases first, then tests that draw their own examples, then hidden cases.

    A worker remembers what it was given, and the words of exceptions in public tests are shown to
    students: they are all said before the first hidden input is sent.
    """
    if _visibility(item) == "hidden":
        return 2
    return 0 if "oracle" in item.fixturenames else 1


def _error_by_step(item: pytest.Function, outcome: Outcome | None) -> tuple[float, ...]:
    """For the student's own plot, so of public cases only."""
    return outcome.error_by_step if outcome and _visibility(item) == "public" else ()


def _visibility(item: pytest.Function) -> Visibility:
    """By the cases a test runs on; a test without cases is as public as its file."""
    by_file: Visibility = "hidden" if item.path.parent == HIDDEN_TESTS else "public"
    return _case_set(item) or by_file


def _case_set(item: pytest.Function) -> CaseSet | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("oracle") if callspec else None


def _case(item: pytest.Function) -> str:
    """pytest's name of the parameters without the set of cases, which has a name of its own."""
    if (case_set := _case_set(item)) is None:
        return item.callspec.id if hasattr(item, "callspec") else ""
    names = item.callspec.id.split("-")
    names.remove(case_set)
    return "-".join(names)
