"""The pytest hooks of the homework: options, fixtures, outcomes, exit code.

`assignment/conftest.py` loads it. The grader passes a backend and cases of its own through
`config.stash`, so that a test never knows which of the two runs it.
"""

from __future__ import annotations

import re
from collections.abc import Generator

import hypothesis
import pytest

from . import draws
from .at_home import AT_HOME, AtHome, place_in_table
from .cases import Case, Cases, load_cases
from .extra_parts import asked_for as extra_asked_for
from .extra_parts import pytest_ignore_collect
from .hints import hint
from .limit import CALL_SECONDS, CallLimit
from .outcome import OUTCOME, outcome_of
from .page.own import FILE as PAGE
from .page.own import PageWriter
from .parts import TORCH_PART
from .remarks import begin as forget_remarks
from .report import Report
from .student import Backend, LocalBackend, Student
from .timing import MARKS, asked_for, leave_out_timing_tests
from .words import LANGUAGES, speak

BACKEND = pytest.StashKey[Backend]()
CASE_SETS = pytest.StashKey[dict[str, Cases]]()

# Every run draws the same examples, so that a grade does not depend on luck.
hypothesis.settings.register_profile(
    "homework",
    max_examples=10,
    # No shrinking: the examples are small as they are, and making one smaller calls a slow
    # function hundreds of times more.
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    deadline=None,
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    print_blob=False,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--impl",
        default=None,
        metavar="PACKAGE",
        help="package with the functions under test (default: the folder of the tests)",
    )
    parser.addoption(
        "--hint",
        metavar="TOPIC[:LEVEL]",
        help="print a hint on a part, a function or a named bug (levels 1 to 3) and run nothing",
    )
    parser.addoption(
        "--lang",
        choices=LANGUAGES,
        help="language of messages and hints, 信息和提示的语言 (default: the locale's)",
    )
    parser.addoption(
        "--call-seconds",
        type=float,
        default=CALL_SECONDS,
        metavar="SECONDS",
        help="how long one call of your code may take (default: 20; 0: no limit)",
    )
    parser.addoption(
        "--page",
        action="store_true",
        help=f"write a page to look at, {PAGE}: points, failures with plots and pictures",
    )


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """--hint answers and runs no test."""
    speak(config.getoption("lang", default=None))
    topic = config.getoption("hint", default=None)
    if topic is None:
        return None
    print(hint(topic))
    return 0


@pytest.hookimpl(trylast=True)  # after the terminal reporter, which the report replaces
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "graded(section, points): a graded test")
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    hypothesis.settings.load_profile("homework")
    draws.draw_the_same_everywhere()
    config.option.keyword = whole_parts(config.getoption("keyword", default=""))
    if BACKEND not in config.stash:
        package = config.getoption("impl") or __package__.rpartition(".")[0]
        config.stash[BACKEND] = LocalBackend(package)
        config.stash[CASE_SETS] = {"public": load_cases()}
        home = install_at_home(config)
        if asked_for(config) or extra_asked_for(config, TORCH_PART):
            # No points of PARTS in them: pytest's own words and reasons serve best.
            config.option.tbstyle = "line"
            if terminal := config.pluginmanager.get_plugin("terminalreporter"):
                terminal.reportchars = "s"
        else:
            Report.install(config, package, home)
            if config.getoption("page") and not hasattr(config, "workerinput"):
                writer = PageWriter(config, package, home, config.stash[BACKEND])
                config.pluginmanager.register(writer)


def install_at_home(config: pytest.Config) -> AtHome:
    """Keep outcomes, and limit the calls of a backend that runs in this process."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    limit = CallLimit(config.getoption("call_seconds"), terminal.write_line if terminal else print)
    backend = config.stash[BACKEND]
    if isinstance(backend, LocalBackend):
        backend.around_call = limit.call
    home = AtHome(limit)
    config.pluginmanager.register(home, AT_HOME)
    return home


def whole_parts(keyword: str) -> str:
    """What -k selects by: "part1" is part 1 and not also part 11, whose name contains it."""
    return re.sub(r"\b(?:test_)?part(\d+)\b", r"test_part\1_", keyword, flags=re.IGNORECASE)


@pytest.hookimpl(tryfirst=True)  # before the grader makes its own list
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Part 11 comes last, and timing tests run only where -m asks for them."""
    items.sort(key=place_in_table)
    leave_out_timing_tests(config, items)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for `oracle` once for each set of cases."""
    if "oracle" in metafunc.fixturenames:
        case_sets = metafunc.config.stash[CASE_SETS]
        metafunc.parametrize("oracle", list(case_sets), indirect=True)


class NoSuchCase(Exception):
    """A test asks for a case that was never made: the course's fault, not the student's."""


class Oracle:
    """Expected values: `oracle("rope/float64")` is a case computed by the reference model."""

    def __init__(self, cases: Cases) -> None:
        self._cases = cases

    def __call__(self, name: str) -> Case:
        try:
            return self._cases[name]
        except KeyError:
            raise NoSuchCase(f"there is no case called {name}; is the golden data stale?") from None


@pytest.fixture(scope="session")
def student(request: pytest.FixtureRequest) -> Student:
    """The functions under test."""
    return Student(request.config.stash[BACKEND])


@pytest.fixture
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """What the reference model says."""
    return Oracle(request.config.stash[CASE_SETS][request.param])


def pytest_runtest_setup() -> None:
    """Remarks are on one test."""
    forget_remarks()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" or (report.when == "setup" and call.excinfo):
        item.stash[OUTCOME] = outcome_of(item, call.excinfo.value if call.excinfo else None)
    return report
