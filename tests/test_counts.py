"""Numbers as answers (part 8): what counts as a count, what is said of others, and fair cases."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

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
from grader.authoring.cases import make_cases
from grader.authoring.golden import PUBLIC_SEED
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
