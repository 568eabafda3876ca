"""Loads the homework's pytest plugin; the tests themselves need only `student` and `oracle`."""

from .harness.extra_parts import pytest_terminal_summary
from .harness.plugin import (
    oracle,
    pytest_addoption,
    pytest_cmdline_main,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_generate_tests,
    pytest_ignore_collect,
    pytest_runtest_makereport,
    pytest_runtest_setup,
    student,
)
