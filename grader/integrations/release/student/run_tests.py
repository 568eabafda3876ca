"""Run the public tests on the functions of a notebook: `%run -i run_tests.py part4` in a cell.

Needs the folder assignment/ beside it. In a terminal, `pytest` tests the .py files instead.
"""

import sys

import pytest

from assignment.harness import plugin
from assignment.harness.cases import load_cases
from assignment.harness.parts import GIVEN_FUNCTIONS
from assignment.harness.report import NOTEBOOK, Report
from assignment.harness.student import LocalBackend


class Cells(LocalBackend):
    """Calls what the notebook's cells defined; the given code comes from the package."""

    def __init__(self, namespace):
        super().__init__("assignment")
        self._namespace = namespace

    def _lookup(self, name):
        if name in GIVEN_FUNCTIONS:
            return super()._lookup(name)
        if name not in self._namespace:
            raise NotImplementedError(f"{name} is not defined in the notebook: run its cell")
        return self._namespace[name]


class OnCells:
    """Puts the cells in the place of the package."""

    def __init__(self, namespace):
        self._namespace = namespace

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        config.stash[plugin.BACKEND] = Cells(self._namespace)
        config.stash[plugin.CASE_SETS] = {"public": load_cases()}


class Reported:
    """The report of `pytest assignment/`, which is installed only for the package itself."""

    @pytest.hookimpl(trylast=True)  # after the terminal reporter, which the report replaces
    def pytest_configure(self, config):
        Report.install(config, NOTEBOOK, plugin.install_at_home(config))


def run(namespace, *words):
    """pytest's exit code for the tests whose names hold one of `words`; all without any."""
    select = ["-k", " or ".join(words)] if words else []
    arguments = ["assignment", "-p", "no:cacheprovider", *select]
    return int(pytest.main(arguments, plugins=[OnCells(namespace), Reported()]))


if __name__ == "__main__":
    if "get_ipython" not in globals():
        sys.exit("This runs inside a notebook: %run -i run_tests.py part4. Here, type: pytest")
    run(globals(), *sys.argv[1:])
