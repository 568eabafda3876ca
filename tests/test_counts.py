"""Numbers as answers (part 8): what counts as a count, what is said of others, and fair cases."""

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
from assignment.harness.counts import (
    Answer,
    answers_by_name,
    answers_of_pair,
    as_count,
    as_number,
    ask,
    check_counts,
    check_numbers,
)
from assignment.harness.diagnosis import SAME, difference, print_of
from assignment.harness.exercises import explanation
from assignment.harness.points import grading_of
from assignment.harness.student import LocalBackend, NotStarted, Student
from grader.authoring.cases import exercises as cases
from grader.authoring.cases import make_cases
from grader.authoring.cases.draw import Draw
from grader.authoring.exercises import FORMULAS
from grader.authoring.golden import PUBLIC_SEED
from grader.grading.suite import Suite, collect_all, collect_public
from grader.sandbox.wire import UnsupportedArray


def said(call, *arguments) -> str:
    with pytest.raises(Mismatch) as caught:
        call(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint16, np.int32, np.array])
def test_every_integer_is_a_count(kind):
    check_counts([Answer("f()", kind(824), 824)])
    assert type(as_count("f()", kind(824))) is int


@pytest.mark.parametrize(
    "got", [824, 824.0, np.float64(824), np.float32(824), np.int64(824), np.array(824.0)]
)
def test_every_real_number_is_a_number(got):
    check_numbers([Answer("f()", got, 824.0)])
    assert type(as_number("f()", got)) is float


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (824.0, "the float 824.0, expected an int: floats are exact up to 2**53 only"),
        (np.float32(824), "the float 824.0, expected an int"),
        (None, "None (is a return missing?), expected an int"),
        (True, "something of type bool, expected an int"),
        ("824", "something of type str, expected an int"),
        (np.array([824]), "something of type ndarray, expected an int"),
    ],
)
def test_what_is_no_count_is_named(got, words):
    text = said(check_counts, [Answer("n_params(ModelConfig(…))", got, 824)])
    assert text.startswith(f"n_params(ModelConfig(…))\ngot {words}")


@pytest.mark.parametrize("got", [None, "0.5", True, 1j, [0.5]])
def test_what_is_no_number_is_named(got):
    assert "expected a number" in said(check_numbers, [Answer("f()", got, 0.5)])


def test_a_wrong_count_is_shown_with_its_ratio():
    answers = [Answer("f(1)", 3, 3), Answer("f(2)", 1_000_000, 2_000_000), Answer("f(3)", 0, 7)]
    assert said(check_counts, answers).splitlines() == [
        "f(2)",
        "got 1,000,000, expected 2,000,000: 0.5 of it, too small by 1,000,000",
        "2 of 3 numbers are wrong",
    ]


def test_a_ratio_that_rounds_to_1_is_not_shown():
    assert "expected 10,000,000: too large by 7\n" in said(
        check_counts, [Answer("f()", 10_000_007, 10_000_000)]
    )


def test_two_numbers_in_the_wrong_order_are_told_so():
    words = said(lambda got: answers_of_pair("mla_core(...)", got, (30, 20)), (20, 30))
    assert words.endswith("got the right numbers in the wrong order")
    assert len(answers_of_pair("mla_core(...)", (20, 31), (30, 20))) == 2


def test_counts_are_compared_to_the_last_digit():
    """Also above 2**53, where two floats are the same."""
    check_counts([Answer("f()", 2**60 + 1, 2**60 + 1)])
    assert "got 1,152,921,504,606,846,976" in said(check_counts, [Answer("f()", 2**60, 2**60 + 1)])


def test_an_overflow_is_told_as_one():
    right = 3 * 10**19
    wrapped = np.array([right % 2**64], dtype=np.uint64).view(np.int64)[0]
    text = said(check_counts, [Answer("f()", wrapped, right)])
    assert "these are the last 64 bits of the right number: an int64 overflowed" in text
    assert "overflowed" not in said(check_counts, [Answer("f()", wrapped + 1, right)])


def test_an_integer_too_long_to_print_is_no_trouble():
    assert "got an integer of 16610 bits" in said(check_counts, [Answer("f()", 10**5000, 7)])
    assert "got an integer of" in said(check_numbers, [Answer("f()", -(10**5000), 0.5)])
    # A property compares with the sum of the submission's own answers.
    twice = [Answer("f()", 10**4299, 2 * 10**4299)]
    assert "expected an integer of 14282 bits" in said(check_counts, twice)


@pytest.mark.parametrize("got", [np.nan, np.inf, -np.inf, 0.5000001])
def test_wrong_numbers_are_wrong(got):
    assert "1 of 1 numbers are wrong" in said(check_numbers, [Answer("f()", got, 0.5)])


def test_numbers_may_differ_by_rounding():
    check_numbers([Answer("f()", 0.1 + 0.2, 0.3)])


@pytest.mark.parametrize(
    ("got", "words"),
    [
        ({"a": 1}, "the dict lacks 'b'"),
        ({"a": 1, "b": 2, "total": 3}, "the dict has 'total'; its names are a, b"),
        ([1, 2], "got something of type list, expected a dict"),
        (None, "got None (is a return missing?), expected a dict"),
    ],
)
def test_dicts_have_exactly_their_names(got, words):
    assert words in said(answers_by_name, "f()", got, {"a": 1, "b": 2})


@pytest.mark.parametrize("got", [(1, 2), [1, 2], np.array([1, 2])])
def test_a_pair_may_be_a_tuple_a_list_or_an_array(got):
    check_counts(answers_of_pair("f()", got, (1, 2)))


@pytest.mark.parametrize(
    "got",
    [
        *[(1,), [1, 2, 3], np.eye(2), "12", {0: 1, 1: 2}, 12, np.ma.array([1, 2])],
        UnsupportedArray("object", (2,)),
        SimpleNamespace(shape=np.array([1, 2])),
    ],
)
def test_nothing_else_is_a_pair(got):
    assert "expected two ints" in said(answers_of_pair, "f()", got, (1, 2))


def test_a_call_is_shown_as_one_types_it():
    """The config first and its sizes in its own order, however a case was stored."""
    student = SimpleNamespace(ModelConfig=dict, f=lambda config, batch: (config, batch))
    call = {"batch": 3, "config": {"n_layers": 2, "name": "m"}}
    typed, got = ask(student, "f", call)
    assert typed == "f(ModelConfig(name='m', n_layers=2), batch=3)"
    assert got == (call["config"], 3)
    assert ask(SimpleNamespace(g=lambda x: x), "g", {"x": 7}) == ("g(x=7)", 7)


def test_wrong_counts_have_prints_that_tell_them_apart():
    """So known bugs of part 8 are recognised like any others."""

    def print_for(*got):
        with pytest.raises(Mismatch) as caught:
            check_counts([Answer("f()", n, 10**15) for n in got])
        return print_of(caught.value.got)

    one, again, other = print_for(7, 8 * 10**9), print_for(7, 8 * 10**9), print_for(8 * 10**9, 7)
    assert difference(one, again) == 0
    assert difference(one, other) > SAME


@pytest.mark.slow
def test_hidden_cases_ask_for_what_no_public_table_holds():
    def calls(case: dict) -> list:
        return (
            case["calls"] if "calls" in case else [*zip(case["specs"], case["shapes"], strict=True)]
        )

    public, hidden = (make_cases(seed) for seed in (PUBLIC_SEED, 1))
    of_part = [name for name in public if name.startswith("accounting/")]
    assert len(of_part) == 10
    for name in of_part:
        new = [call for call in calls(hidden[name]) if call not in calls(public[name])]
        assert len(new) > len(calls(hidden[name])) / 2, name


# ---- Part 11's formulas: no constant passes, right code of any style does, known mistakes are t

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
