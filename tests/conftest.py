"""For all tests: what the machine must not decide, the class they share, which run together."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is not a wrong program.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# A shell's background jobs ignore Ctrl-C, and hand that on to the graders under test.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Messages follow the locale; tests that want Chinese say so.
os.environ["LC_ALL"] = "C.UTF-8"

# Files whose tests grade for real or wait for programs of others, the longest first, for two
# processes end together when the last files are short. `make quick` leaves them out.
SLOW_FILES = (
    "test_hostile.py",
    "test_grader_suite.py",
    "test_nbgrader.py",
    "test_correct_variants.py",
    "test_known_bugs.py",
    "test_distributed.py",
    "test_chat_and_demo.py",
    "test_decode_benchmark.py",
    "test_bench_torch.py",
    "test_nothing_lost.py",
    "test_report_pages.py",
    "test_sandbox_portable.py",
)
# In the other files, who uses one of these does so, or carries the mark.
SLOW_FIXTURES = frozenset(
    (
        "archive",
        "bench",
        "container",
        "copied",
        "desk",
        "graded_class",
        "in_english",
        "learned",
        "public",
        "selections",
        "unpacked",
        "variant",
    )
)
# The tests of a file run in one process, for they share what it makes once. So do these files.
TOGETHER = {
    # The sample class, graded.
    "test_carry.py": "test_grader_suite.py",
    "test_examples.py": "test_grader_suite.py",
    # Their loops are timed, and stand still while it is not their turn.
    "test_bench.py": "test_decode_benchmark.py",
    "test_bench_torch.py": "test_decode_benchmark.py",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and put it first."""
    for item in items:
        if item.path.name in SLOW_FILES or SLOW_FIXTURES & {*item.fixturenames}:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: _place(item.path.name))


def _place(file: str) -> int:
    file = TOGETHER.get(file, file)
    return SLOW_FILES.index(file) if file in SLOW_FILES else len(SLOW_FILES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hands out files, some of them together.

    xdist's marks for this have no effect from pytest 9.2 on, and nothing says so
    (pytest-dev/pytest-xdist#1386): each process then makes for itself what is to be made once.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.partition("::")[0]).name
            return TOGETHER.get(file, file)

    return ByFile(config, log)


@dataclass(frozen=True)
class GradedClass:
    """The results of the sample class, and the secret they were made with."""

    results: Path
    secret: Path


@pytest.fixture(scope="session")
def sample_class(tmp_path_factory) -> Path:
    """A folder with every submission of the sample class, not to be written to."""
    from grader.authoring.sample_class import write_class

    return write_class(tmp_path_factory.mktemp("sample") / "class")


@pytest.fixture(scope="session")
def any_sandbox() -> object:
    """The sandbox that this machine has; where none works, the test is skipped and says so."""
    from grader.sandbox import SandboxUnavailable, choose_sandbox

    try:
        return choose_sandbox("auto")
    except SandboxUnavailable as problem:
        pytest.skip(f"no sandbox here: {str(problem).splitlines()[0]}")


@pytest.fixture(scope="session")
def graded_class(any_sandbox, sample_class, tmp_path_factory) -> GradedClass:
    """The sample class, graded once: files whose tests ask for it stand in TOGETHER."""
    from grader.grade_class import grade_class

    folder = tmp_path_factory.mktemp("graded")
    graded = GradedClass(folder / "results", folder / "secret.hex")
    grade_class(
        [sample_class], graded.results, secret_file=graded.secret, real_model=False, quiet=True
    )
    return graded
