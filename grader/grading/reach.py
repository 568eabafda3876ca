"""What each test reaches on the solution, for exchange.py.

python -m grader.grading.reach            write exchange.json
python -m grader.grading.reach --check    only say whether it is stale (exit code 1)

A test that passes where all functions of its own part are stubs asks nothing of that part: with
trusted versions of the others it would be right for nothing, so it may exchange none.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assignment.harness import draws, plugin
from assignment.harness.parts import MODULE_OF, PART_BY_NUMBER
from assignment.harness.points import grading_of
from assignment.harness.student import Student
from grader.diagnosis.lookup import test_name
from grader.known_bugs import Variant, make_variant, noting_calls

from .exchange import EXCHANGE_FILE, PART_OF, shared_name
from .result import case_of
from .suite import Suite, collect_all

# The real model is not everywhere; its test decodes as the other one does.
REAL_MODEL = "test_real_model.py::test_decode_of_a_real_model"
ITS_LIKE = "test_serving.py::test_long_grouped_decode"


class Bench:
    """The whole suite and part 12's, to be run in this process on variants of the solution."""

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self.items, self._case_sets = collect_all(suite)
        self.items += collect_all(replace(suite, part12=True))[0]

    def passes(self, item: pytest.Function, variant: Variant) -> bool:
        """Whether a variant passes a test with the cases and the draws of this suite."""
        arguments: dict[str, Any] = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if "oracle" in arguments:
            arguments["oracle"] = plugin.Oracle(self._case_sets[arguments["oracle"]])
        try:
            with (
                np.errstate(all="ignore"),
                warnings.catch_warnings(action="ignore"),
                draws.draws_of(item.obj, self._suite.seed_of(test_name(item))),
            ):
                item.obj(student=Student(variant), **arguments)
        except (Exception, pytest.skip.Exception):
            return False
        return True


def traced(bench: Bench) -> list[dict[str, list[str]]]:
    """Groups of tests, and what each of their tests may exchange."""
    right = make_variant([])
    stubs = {part: without(part) for part in PART_BY_NUMBER}
    found: dict[str, set[str]] = {}
    for item in bench.items:
        grading = grading_of(item)
        assert grading is not None  # all tests of the suite have points
        with noting_calls() as called:
            assert bench.passes(item, right), f"the solution fails {item.name}"
        others = {name for name in called_functions(called) if PART_OF[name] != grading.part}
        if others and not bench.passes(item, stubs[grading.part]):
            name = shared_name(item.path.name, item.originalname, case_of(item))
            found.setdefault(name, set()).update(others)
    found[REAL_MODEL] = found[ITS_LIKE]
    return _grouped(found)


def called_functions(called: Iterable[str]) -> set[str]:
    """Of what `noting_calls` gives, the functions that the parts ask for."""
    called = set(called)
    return {name for name in PART_OF if f"{MODULE_OF[name]}.{name}" in called}


def without(part: int) -> Variant:
    """The solution with stubs in place of the functions of one part."""
    variant = make_variant([])
    for name in PART_BY_NUMBER[part].functions:
        variant.put(name, _stub)
    return variant


def _stub(*_: Any, **__: Any) -> None:
    raise NotImplementedError


def _grouped(found: dict[str, set[str]]) -> list[dict[str, list[str]]]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for test, functions in sorted(found.items()):
        groups.setdefault(tuple(n for n in PART_OF if n in functions), []).append(test)
    return [{"functions": list(names), "tests": tests} for names, tests in groups.items()]


def main(arguments: list[str]) -> int:
    """Write what may be exchanged, or with --check only say whether that is stale."""
    with tempfile.TemporaryDirectory() as scratch:
        groups = traced(Bench(Suite.load(b"reach", False, Path(scratch))))
    text = json.dumps(groups, indent=1) + "\n"
    if "--check" not in arguments:
        EXCHANGE_FILE.write_text(text, encoding="utf-8")
    elif text != EXCHANGE_FILE.read_text(encoding="utf-8"):
        print("what may be exchanged is stale: run python -m grader.grading.reach")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
