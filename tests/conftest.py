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

# Files whose tests grade for real or wait for programs of others: `make quick` leaves them out.
SLOW_FILES = frozenset(
    f"test_{name}.py"
    for name in (
        "bench_torch",
        "chat_and_demo",
        "correct_variants",
        "decode_benchmark",
        "distributed",
        "grader_suite",
        "hostile",
        "known_bugs",
        "nbgrader",
        "nothing_lost",
        "report_pages",
        "sandbox_portable",
    )
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
        "public",
        "selections",
        "unpacked",
        "variant",
    )
)
# One after the other: their loops are timed, and stand still while it is not their turn.
TIMED_FILES = ("test_bench.py", "test_bench_torch.py", "test_decode_benchmark.py")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and keep tests in one process that share what is made once."""
    for item in items:
        if item.path.name in SLOW_FILES or SLOW_FIXTURES & {*item.fixturenames}:
            item.add_marker(pytest.mark.slow)
        if _shares_a_fixture(item) and item.get_closest_marker("xdist_group") is None:
            group = "timed" if item.path.name in TIMED_FILES else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Whether it uses a graded class, a course or a daemon that its file makes once."""
    return any(
        fixture.scope in ("module", "session") and item.nodeid.startswith(f"{fixture.baseid}::")
        for fixtures in item._fixtureinfo.name2fixturedefs.values()
        for fixture in fixtures
    )


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
def graded_class(sample_class, tmp_path_factory) -> GradedClass:
    """The sample class, graded once: tests that ask for it are of the group `sample_class`."""
    from grader.grade_class import grade_class
    from grader.sandbox import SandboxUnavailable, choose_sandbox

    try:
        choose_sandbox("auto")
    except SandboxUnavailable as problem:
        pytest.skip(f"no sandbox here: {str(problem).splitlines()[0]}")
    folder = tmp_path_factory.mktemp("graded")
    graded = GradedClass(folder / "results", folder / "secret.hex")
    grade_class(
        [sample_class], graded.results, secret_file=graded.secret, real_model=False, quiet=True
    )
    return graded
