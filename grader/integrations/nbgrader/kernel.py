"""The `check` of nbgrader's own autograder: hidden cases too, and no error carried forward.

Runs in the kernel that runs the student's code, beside it, on the instructor's machine: whoever
means to can read and change everything here. `grader nbgrader autograde` is the way without that.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from assignment.harness import notebook
from assignment.harness.cases import Case
from assignment.harness.notebook import CheckFailed
from assignment.harness.parts import PART_BY_NUMBER, PARTS, STUDENT_MODULES
from assignment.harness.points import Grading, Ran, until_right
from assignment.harness.student import NotStarted
from grader.authoring import cases as builders
from grader.authoring.cases import hidden
from grader.authoring.cases.draw import Draw
from grader.base.places import SOLUTION
from grader.base.seeds import derive_seed, load_secret
from grader.base.words import spoken, tr
from grader.integrations.nbgrader.cells import HIDDEN_FAILED, HIDDEN_ONLY_FAILED

# As the suite's: that module takes a second to import, and every kernel would pay for it.
SUITE_VERSION = "1"


def check(test: str, variant: str = "") -> None:
    """Run a test on its public case, then on its hidden one.

    A test that fails runs again with the solution's functions for all other parts, and counts if
    it passes then. One that passes counts only where the tests that it hangs on are right.

    Raises:
        CheckFailed: what is wrong on the public case, or that a hidden one fails.
    """
    __tracebackhide__ = True
    state = notebook.opened()
    state.share()
    with notebook.quiet():
        problem = _problem(test, variant, state.namespace)
        if problem is None:
            problem = _hangs_on(test, state)
            if problem is None:
                return
            raise problem
        with trusted_others(state):
            if _problem(test, variant, state.namespace) is None:
                print(tr("right with trusted versions of the other parts"))
                return
    raise problem


def _hangs_on(test: str, state: notebook.Opened) -> Exception | None:
    """What keeps a test that passed from paying; see assignment.harness.points.hanging."""
    marks = [mark for mark in _find(test)[0].pytestmark if mark.name == "graded"]
    if not marks:  # its points stand with its parameters, and hang on nothing
        return None
    (mark,) = marks
    wrong = [name for name in mark.kwargs["needs"] if not all(_verdicts(name, state))]
    beside = mark.kwargs["beside"]
    if not wrong and beside and not any(v for name in beside for v in _verdicts(name, state)):
        wrong = [beside[0]]
    return CheckFailed(until_right(_as_ran(wrong[0]))) if wrong else None


def _verdicts(test: str, state: notebook.Opened) -> list[bool]:
    """Whether each variant of a test is right, by itself or with trusted versions of other parts.

    With trusted parts only where it is of the part of this notebook: another part's test is about
    functions that are the student's there.
    """
    function = _find(test)[0]
    found = []
    for variant in notebook.variants(function):
        right = _problem(test, variant, state.namespace) is None
        if not right and _as_ran(test).grading.part == state.part:
            with trusted_others(state):
                right = _problem(test, variant, state.namespace) is None
        found.append(right)
    return found


def _as_ran(test: str) -> Ran:
    function = _find(test)[0]
    (mark,) = (m for m in function.pytestmark if m.name == "graded")
    title = str(function.__doc__).strip().splitlines()[0].rstrip(".")
    return Ran(f"::{test}", Grading(mark.args[0], mark.args[1], title, **mark.kwargs), passed=False)


def _problem(test: str, variant: str, namespace: dict) -> Exception | None:
    """What fails, or None."""
    function, is_hidden = _find(test)
    if not is_hidden:
        try:
            notebook.run_test(function, variant, notebook.public_cases(), namespace)
        except (Exception, NotStarted) as error:
            return CheckFailed(str(error) or type(error).__name__)
        if "oracle" not in inspect.signature(function).parameters:
            return None
    try:
        notebook.run_test(function, variant, HiddenCases(), namespace)
    except (Exception, NotStarted):
        # Neither message nor traceback: both tell of the hidden case.
        return CheckFailed(spoken(HIDDEN_ONLY_FAILED if is_hidden else HIDDEN_FAILED))
    return None


@contextmanager
def trusted_others(state: notebook.Opened) -> Iterator[None]:
    """Put the solution's functions in place of all parts' but the one under test."""
    own = PART_BY_NUMBER[state.part].functions
    trusted = _solution_around({name: state.namespace.get(name) for name in own})
    before = dict(state.namespace)
    exchanged = {id(before[name]): function for name, function in trusted.items() if name in before}
    try:
        state.namespace.update(trusted)
        for name, value in before.items():
            if id(value) in exchanged:  # a second name for a function of another part
                state.namespace[name] = exchanged[id(value)]
        yield
    finally:
        state.namespace.update(before)


_copies = itertools.count()


def _solution_around(own: Mapping[str, Any]) -> dict[str, Any]:
    """The solution's other functions, in modules of their own in which `own` are the student's."""
    package = f"_trusted_{next(_copies)}"
    modules = [_load(package, name) for name in ("", "transformer", *STUDENT_MODULES)]
    for module in modules:
        for name, function in own.items():
            if hasattr(module, name):
                setattr(module, name, function)
    home = {module.__name__.rpartition(".")[2]: module for module in modules}
    return {
        name: getattr(home[part.module], name)
        for part in PARTS
        for name in part.functions
        if name not in own
    }


def _load(package: str, name: str) -> ModuleType:
    full_name = f"{package}.{name}" if name else package
    if full_name in sys.modules:
        return sys.modules[full_name]
    spec = importlib.util.spec_from_file_location(
        full_name,
        SOLUTION / f"{name or '__init__'}.py",
        submodule_search_locations=None if name else [str(SOLUTION)],
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{full_name} cannot be imported from {SOLUTION}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    spec.loader.exec_module(module)
    return module


class HiddenCases(dict):
    """Hidden cases by name, each computed when it is first asked for."""

    def __missing__(self, name: str) -> Case:
        build = (builders.BUILDERS | hidden.BUILDERS)[name]
        return Case(name=name, **build(Draw(_seed(), name)))


@cache
def _seed() -> int:
    return derive_seed(load_secret().key, SUITE_VERSION, "cases")


def _find(test: str) -> tuple[Any, bool]:
    try:
        return notebook.find_test(test), False
    except LookupError:
        return getattr(_hidden_tests(), test), True


@cache
def _hidden_tests() -> ModuleType:
    return importlib.import_module("grader.grading.hidden.test_serving")
