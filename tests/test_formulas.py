"""Part 11's formulas: no constant passes, right code of any style does, known mistakes are told."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import solution.exercises
from assignment.harness import words
from assignment.harness.cases import Case, load_cases
from assignment.harness.compare import Mismatch
from assignment.harness.exercises import explanation
from assignment.harness.points import grading_of
from assignment.harness.student import LocalBackend, NotStarted, Student
from grader.authoring.cases import exercises as cases
from grader.authoring.cases.draw import Draw
from grader.authoring.exercises import FORMULAS
from grader.grading.suite import Suite, collect_all, collect_public

NUMBERS = [name for name in FORMULAS if not name.endswith(("_shapes", "_head", "_layer"))]


class One:
    """The solution with one function exchanged."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self._name, self._function = name, function
        self._solution = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        if name == self._name:
            return self._function(*args, **kwargs), []
        return self._solution.call(name, args, kwargs)


@cache
def case_of(name: str, seed: int | None) -> Case:
    """The public case, or one as the hidden ones are drawn."""
    if seed is None:
        return load_cases()[f"exercises/{name}"]
    fields = cases.BUILDERS[f"exercises/{name}"](Draw(seed, name))
    return SimpleNamespace(name=f"exercises/{name}", **fields)


@cache
def collected() -> dict[str, Callable[..., None]]:
    """The functions of all public tests, by name."""
    return {item.originalname: item.obj for item in collect_public()[0]}


def told(name: str, function: Callable[..., Any], seed: int | None = None) -> str | None:
    """What a student is told of a function; None: right."""
    try:
        collected()[f"test_{name}"](Student(One(name, function)), lambda _: case_of(name, seed))
    except Mismatch as wrong:
        return str(wrong)
    return None


def answer_to_the_example(name: str) -> tuple[dict[str, int], Any]:
    """The sizes that the public test asks with first, and the right answer."""
    asked: list[dict[str, int]] = []

    def answer(**sizes: int) -> Any:
        asked.append(sizes)
        return getattr(solution.exercises, name)(**sizes)

    assert told(name, answer) is None
    return asked[0], getattr(solution.exercises, name)(**asked[0])


# --- right and wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_solution_is_right_whatever_is_drawn(name, seed):
    assert told(name, getattr(solution.exercises, name), seed) is None


@pytest.mark.parametrize("name", FORMULAS)
def test_the_reference_finds_what_the_lecture_does(name):
    sizes, _ = answer_to_the_example(name)
    assert told(name, lambda **_: FORMULAS[name].answer(**_)) is None
    assert sizes not in case_of(name, None).calls


@pytest.mark.parametrize("name", FORMULAS)
def test_a_constant_answer_is_wrong_at_home_and_in_grading(name):
    _, right = answer_to_the_example(name)
    for seed in (None, 1):
        assert "(" in told(name, lambda **_: right, seed)  # the call that gives it away
    table = [(call, FORMULAS[name].answer(**call)) for call in case_of(name, None).calls]
    looked_up = lambda **sizes: next((a for call, a in table if call == sizes), right)  # noqa: E731
    assert told(name, looked_up) is None and told(name, looked_up, seed=1) is not None


@pytest.mark.parametrize(
    ("name", "mistake"), [(name, m) for name, formula in FORMULAS.items() for m in formula.mistakes]
)
def test_each_mistake_is_wrong_and_explained(name, mistake):
    for seed, language in ((None, "en"), (1, "zh")):
        words.speak(language)
        try:
            why = explanation(mistake)
            assert told(name, FORMULAS[name].mistakes[mistake], seed).endswith(f"\n{why}")
        finally:
            words.speak(None)


@pytest.mark.parametrize("name", FORMULAS)
def test_each_stub_alone_is_missed(name):
    def stub(**sizes: int) -> None:
        raise NotImplementedError

    with pytest.raises(NotStarted) as reached:
        told(name, stub)
    assert reached.value.function == name


def test_drawn_sizes_fit_one_another():
    for seed in range(20):
        for name in FORMULAS:
            for call in case_of(name, seed).calls:
                if "n_kv_heads" in call and "n_heads" in call:
                    assert call["n_heads"] % call["n_kv_heads"] == 0
                if name == "d3_3_query_length":
                    assert call["d_model"] % call["n_heads"] == 0


# --- styles ---------------------------------------------------------------------------------------


class Kept:
    """As an object that stayed in a worker: methods by name, no operators."""

    def __init__(self, value: Any) -> None:
        self.as_integer_ratio = value.as_integer_ratio


@pytest.mark.parametrize(
    "style",
    [float, np.float64, np.float32, np.array, Decimal, Fraction, lambda x: Kept(Fraction(x))],
    ids=["float", "float64", "float32", "0-d", "Decimal", "Fraction", "kept in a worker"],
)
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_any_kind_is_a_number(name, style):
    assert told(name, lambda **sizes: style(getattr(solution.exercises, name)(**sizes))) is None


@pytest.mark.parametrize("style", [tuple, list, np.array, lambda shape: tuple(map(float, shape))])
def test_a_shape_may_be_a_list_or_an_array(style):
    for name in ("d3_3_w_q_of_the_layer", "d3_3_w_q_of_one_head"):
        right = getattr(solution.exercises, name)
        assert told(name, lambda f=right, **sizes: style(f(**sizes))) is None
    right = solution.exercises.d3_decode_shapes
    as_style = lambda **sizes: {n: style(s) for n, s in right(**sizes).items()}  # noqa: E731
    assert told("d3_decode_shapes", as_style) is None


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("l2_1_kv_bytes_per_token", "512 KiB", 'got "512 KiB", expected the number itself'),
        ("l2_1_kv_bytes_per_token", (512, "KiB"), "something of type tuple, expected the number"),
        ("l2_1_kv_bytes_per_token", None, "got None (is a return missing?), expected a number"),
        ("l2_1_kv_bytes_per_token", True, "something of type bool, expected a number"),
        ("l2_1_kv_bytes_per_token", [524288], "something of type list, expected a number"),
        ("l2_1_kv_bytes_per_token", float("nan"), "got nan, expected 524,288"),
        ("l2_1_kv_bytes_per_token", 10**400, "4 of 4 numbers are wrong"),
        ("d3_3_query_length", (128, 128), "something of type tuple, expected a number"),
        ("d3_3_w_q_of_one_head", "4096 x 128", 'got "4096 x 128", expected a tuple of rows and'),
        ("d3_3_w_q_of_one_head", 4096, 'got "4096", expected a tuple of rows and columns'),
        ("d3_3_w_q_of_one_head", (4096, 127.5), "something of type tuple, expected a tuple of"),
        ("d3_3_w_q_of_one_head", (4096, 127), "got (4096, 127), expected (4096, 128)"),
        ("d3_prefill_shapes", (2000, 4096), "expected a dict"),
        ("d3_prefill_shapes", {"x": (2000, 4096)}, "the dict lacks 'q'"),
    ],
)
def test_what_is_no_answer_is_told_what_is_wanted(name, answer, says):
    assert says in told(name, lambda **_: answer)


def test_an_answer_without_arguments_is_told_what_is_wanted_now():
    says = told("l2_1_kv_bytes_per_token", lambda: "512 KiB")
    assert says.startswith('l2_1_kv_bytes_per_token takes no arguments and returns "512 KiB": one')
    assert "wanted is a function of named arguments now" in says
    assert says.endswith("(n_layers=64, n_heads=32, head_dim=128, bytes_per_number=1)")


def test_a_type_error_of_the_students_own_stays_one():
    def sums(*, n_layers, n_heads, head_dim, bytes_per_number):
        return "2" + n_layers

    with pytest.raises(TypeError, match="can only concatenate"):
        told("l2_1_kv_bytes_per_token", sums)


# --- points ---------------------------------------------------------------------------------------


def test_public_and_hidden_cases_share_the_points(tmp_path):
    """The part is worth ten at home and in grading, where hidden cases decide on its formulas."""
    suite = Suite.load(b"k" * 32, False, tmp_path)
    try:
        items, _ = collect_all(suite)
    finally:
        suite.close()
    of_part = [item for item in items if "part11" in item.path.name]
    hidden = [item for item in of_part if "[hidden]" in item.name]
    assert len(hidden) == len(FORMULAS)
    assert all(grading_of(item).points == 0 for item in hidden)
    assert sum(grading_of(item).points for item in of_part) == 10
