"""For all tests: what the shell and the machine's load must not decide; the class they share."""

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


@dataclass(frozen=True)
class GradedClass:
    """The results of the sample class, and the secret they were made with."""

    results: Path
    secret: Path


@pytest.fixture(scope="session")
def sample_class(tmp_path_factory) -> Path:
    """A folder with every submission of the sample class, not to be written to."""
    from grader.sample_class import write_class

    return write_class(tmp_path_factory.mktemp("sample") / "class")


@pytest.fixture(scope="session")
def graded_class(sample_class, tmp_path_factory) -> GradedClass:
    """The sample class, graded once: tests that ask for it are of the group `sample_class`."""
    from grader.run import grade_class
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
