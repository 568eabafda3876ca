"""Run the tests a grader runs, public and hidden, on the package `solution` in this process.

    python benchmarks/mutation/hidden_check.py

The exit code is 0 when every test passes. The real model is left out. Tests stop at the first
failure: a mutant needs only one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest

from assignment.harness import plugin
from assignment.harness.cases import Cases, load_cases
from assignment.harness.student import LocalBackend
from grader.authoring import golden
from grader.base.places import ASSIGNMENT, HIDDEN_TESTS
from grader.base.seeds import derive_seed
from grader.grading.session import UNUSED_PLUGINS
from grader.grading.suite import SUITE_VERSION

# Any secret will do; a fixed one makes two runs of this script agree.
SECRET = b"mutation testing"


def hidden_cases() -> Cases:
    """The cases a grader with this secret would compute."""
    seed = derive_seed(SECRET, SUITE_VERSION, "cases")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.safetensors"
        file.write_bytes(golden.to_bytes(golden.make_cases(seed, with_hidden=True)))
        return load_cases(file)


class Session:
    """A pytest plugin: hands the solution and both sets of cases to the tests."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[plugin.BACKEND] = LocalBackend("solution")
        config.stash[plugin.CASE_SETS] = {"public": load_cases(), "hidden": hidden_cases()}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Hidden tests have no public cases, and the real model is not here."""
        items[:] = [item for item in items if self._wanted(item)]

    def _wanted(self, item: pytest.Item) -> bool:
        if "real_model" in item.fixturenames:
            return False
        callspec = getattr(item, "callspec", None)
        on_public_case = callspec is not None and callspec.params.get("oracle") == "public"
        return item.path.parent != HIDDEN_TESTS or not on_public_case


def main() -> int:
    arguments = [
        "--noconftest",
        "-c/dev/null",
        f"--rootdir={ASSIGNMENT.parent}",
        *(f"-pno:{name}" for name in UNUSED_PLUGINS if name != "terminal"),
        "--assert=plain",
        "--exitfirst",
        "--quiet",
        "--tb=line",
        str(ASSIGNMENT),
        str(HIDDEN_TESTS),
    ]
    return pytest.main(arguments, plugins=[plugin, Session()])


if __name__ == "__main__":
    sys.exit(main())
