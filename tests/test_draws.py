"""Tests that draw their own examples: anew for each course, and right code passes them all."""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis.internal.conjecture import providers

from assignment.harness import draws
from assignment.harness.memory import Needed
from assignment.harness.points import grading_of
from assignment.harness.student import LocalBackend, Student
from grader.diagnosis import lookup
from grader.grading.suite import Suite, collect_public

ROOT = Path(__file__).parent.parent
# No seed stands in both: what is drawn by it differs in all tests.
SECRETS = (b"one", b"another")
# The numbers that the exercises ask for are the homework, and the same for everybody.
EXERCISES = 11


def seed_of(item: pytest.Item, secret: bytes) -> int:
    return Suite(None, None, "", draws=secret).seed_of(lookup.test_name(item))


@pytest.fixture(scope="module")
def own_draws() -> list[pytest.Item]:
    """The public tests that bring their examples themselves."""
    items, _ = collect_public()
    found = [item for item in items if grading_of(item) and "oracle" not in item.fixturenames]
    return [item for item in found if grading_of(item).part != EXERCISES]


def run(item: pytest.Item, backend: Any) -> None:
    callspec = getattr(item, "callspec", None)
    item.obj(student=Student(backend), **(callspec.params if callspec else {}))


# --- a submission that is a table --------------------------------------------------------------


def key(*values: Any) -> str:
    """A digest of arguments; an object counts as what was done with it."""
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, Handle):
            digest.update(value.history.encode())
        elif isinstance(value, dict):
            digest.update(key(*value.keys(), *value.values()).encode())
        elif isinstance(value, list | tuple):
            digest.update(key(len(value), *value).encode())
        elif isinstance(value, np.ndarray):
            digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        else:
            digest.update(repr(value).encode() + b"\0")
    return digest.hexdigest()


class Unknown(Exception):
    """A question that is not in the table."""


class Table:
    """Answers by question. With a `source` it learns; without, it only looks up."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.source: LocalBackend | None = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        """As a backend of the harness."""
        return self.ask(lambda *a, **k: self.source.call(name, a, k)[0], name, *args, **kwargs), []

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        return Needed(self.call(name, tuple(args), {})[0], mib=0.0)

    def ask(self, function: Callable, *question: Any, **more: Any) -> Any:
        name, *args = question
        asked = key(name, *args, more)
        if self.source is not None:
            inner = [a.inner if isinstance(a, Handle) else a for a in args]
            try:
                answer = function(*inner, **more)
                # A cache hands out views of rows that it will write again.
                self.answers[asked] = copy.deepcopy(answer) if _is_plain(answer) else answer
            except (ValueError, TypeError) as error:
                self.answers[asked] = error
        for handle in (a for a in args if isinstance(a, Handle)):
            handle.history = key(handle.history, asked)
        if asked not in self.answers:
            raise Unknown(name)
        answer = self.answers[asked]
        if isinstance(answer, Exception):
            raise answer
        return answer if _is_plain(answer) else Handle(self, answer, asked)


def _is_plain(answer: Any) -> bool:
    return isinstance(answer, np.ndarray | np.generic | tuple | list | dict | int | float | None)


class Handle:
    """An object of the submission, known by what was done with it so far."""

    def __init__(self, table: Table, inner: Any, history: str) -> None:
        self.table, self.inner, self.history = table, inner, history

    def __getattr__(self, name: str) -> Any:
        if not callable(getattr(self.inner, name)):
            return self.table.ask(lambda inner: getattr(inner, name), name, self)
        return lambda *args, **more: self.table.ask(
            lambda inner, *rest: getattr(inner, name)(*rest, **more), name, self, *args, **more
        )


def points_of(items: list[pytest.Item], table: Table) -> dict[str, float]:
    """What a table earns, by test."""
    earned = {}
    for item in items:
        try:
            run(item, table)
        except Exception:
            continue
        earned[lookup.test_name(item)] = grading_of(item).points
    return earned


@pytest.mark.slow
def test_a_table_of_what_is_asked_at_home_earns_nothing_in_grading(own_draws):
    table = Table()
    at_home = points_of(own_draws, table)
    assert len(at_home) == len(own_draws), "the solution fails its own tests"
    table.source = None
    assert points_of(own_draws, table) == at_home, "the table is incomplete"
    graded = {}
    for item in own_draws:
        with graded_with(item, SECRETS[0]):
            graded |= points_of([item], table)
    assert graded == {}


# --- what is red at home ---------------------------------------------------------------------


@contextlib.contextmanager
def graded_with(item: pytest.Item, secret: bytes) -> Iterator[None]:
    """A public test as the grader runs it."""
    test = item.obj
    item.obj = draws.at_home_and_drawn(test, seed_of(item, secret))
    yield
    item.obj = test


class RotatesFromATable:
    """The solution, whose angles come from a table: later positions are clipped."""

    def __init__(self) -> None:
        self.solution = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        if name == "apply_rope":
            args = (args[0], np.minimum(args[1], 4095), *args[2:])
        return self.solution.call(name, args, kwargs)


@pytest.mark.parametrize("secret", [*SECRETS, b"a third"])
def test_what_is_red_at_home_is_red_in_grading(own_draws, secret):
    """Whatever is drawn there besides; and the failure is told as it is at home."""
    item = next(i for i in own_draws if "depends_on_differences" in i.name)
    with pytest.raises(AssertionError) as at_home:
        run(item, RotatesFromATable())
    with graded_with(item, secret), pytest.raises(AssertionError) as graded:
        run(item, RotatesFromATable())
    assert str(graded.value) == str(at_home.value)
    assert draws.remark() == ""


class WrongAtHome(Exception):
    """A question that the tests ask at home."""


def test_what_is_wrong_in_one_example_at_home_is_red_in_grading(own_draws):
    for item in own_draws[::3]:
        at_home = Questions()
        run(item, at_home)
        asked = set(at_home.asked)

        class Wrong(Questions):
            def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
                answer = super().call(name, args, kwargs)
                if self.asked[-1] in asked:  # noqa: B023
                    raise WrongAtHome
                return answer

        with graded_with(item, SECRETS[0]), pytest.raises((WrongAtHome, ExceptionGroup)):
            run(item, Wrong())


def test_other_modules_around_the_homework_change_no_example(tmp_path, monkeypatch):
    """hypothesis would mix their constants in."""
    (tmp_path / "some_project.py").write_text("ANSWER = 4242424242\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("some_project")
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)
    draws.draw_the_same_everywhere()
    assert 4242424242 not in providers.HypothesisProvider(None)._local_constants.integers


# --- right code --------------------------------------------------------------------------------


class Questions:
    """The solution, and every question it was asked."""

    def __init__(self) -> None:
        self.solution = LocalBackend("solution")
        self.asked: list[str] = []
        self.shapes: list[tuple[int, ...]] = []

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        arrays = [a for a in args if isinstance(a, np.ndarray | int | float | tuple)]
        self.asked.append(key(name, *arrays, kwargs))
        self.shapes += [a.shape for a in arrays if isinstance(a, np.ndarray)]
        return self.solution.call(name, args, kwargs)

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        return Needed(self.call(name, tuple(args), {})[0], mib=0.0)


@pytest.mark.parametrize("secret", SECRETS)
def test_right_code_passes_whatever_is_drawn(own_draws, secret):
    for item in own_draws:
        with draws.draws_of(item.obj, seed_of(item, secret)):
            run(item, LocalBackend("solution"))


def test_the_same_secret_draws_the_same(own_draws):
    def questions(secret: bytes) -> dict[str, list[str]]:
        found = {}
        for item in own_draws[::3]:
            backend = Questions()
            with draws.draws_of(item.obj, seed_of(item, secret)):
                run(item, backend)
            found[lookup.test_name(item)] = backend.asked
        return found

    one, again, other = map(questions, (SECRETS[0], SECRETS[0], SECRETS[1]))
    assert one == again
    assert one != other


def test_hypothesis_draws_anew_too(own_draws):
    """Sizes and settings, not only the numbers in arrays."""
    item = next(item for item in own_draws if "merge_undoes_split" in item.name)
    shapes = []
    for secret in SECRETS:
        backend = Questions()
        with draws.draws_of(item.obj, seed_of(item, secret)):
            run(item, backend)
        shapes.append(backend.shapes)
    assert shapes[0] != shapes[1]


def test_after_grading_a_run_at_home_draws_as_before(own_draws):
    item = next(item for item in own_draws if "ignores_a_common_shift" in item.name)
    asked = []
    for secret in (None, b"one", None):
        backend = Questions()
        if secret is None:
            run(item, backend)
        else:
            with draws.draws_of(item.obj, seed_of(item, secret)):
                run(item, backend)
        asked.append(backend.asked)
    assert asked[0] == asked[2] != asked[1]


# --- the tests of the homework -----------------------------------------------------------------

GRADED = [
    path
    for path in sorted((ROOT / "assignment").glob("test_part*.py"))
    if "part10" not in path.name  # its torch runs at home only
]


@pytest.mark.parametrize("path", GRADED, ids=lambda path: path.stem)
def test_every_draw_of_a_test_can_be_drawn_anew(path):
    """numpy's generators through draws.rng, properties inside a test by draws.drawn."""
    source = path.read_text(encoding="utf-8")
    assert "np.random" not in source, "take draws.rng(seed)"
    tests = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    inner = [f for test in tests for f in ast.walk(test) if isinstance(f, ast.FunctionDef)]
    for function in (f for f in inner if f not in tests):
        marks = [ast.unparse(mark).partition("(")[0] for mark in function.decorator_list]
        assert "given" not in marks or marks[0] == "draws.drawn", f"{function.name}: not drawn"
