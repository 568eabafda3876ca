"""Part 1: softmax and scaled dot-product attention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check, check_array, check_differs, check_kind
from .harness.points import graded
from .harness.words import spoken, tr

CORE_AXES = ("query", "feature")
HEAD_AXES = ("batch", "head", "query", "feature")


@graded("1.1", 0.5)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softmax(student, oracle, dtype):
    """softmax along the last axis, in the dtype of its input."""
    case = oracle(f"softmax/{dtype}")
    check_array(student.softmax(case.x), case.expected, "softmax(x)", ("i", "j", "k"))


@graded("1.1", 0.5)
def test_softmax_along_another_axis(student, oracle):
    """softmax along the axis it is told."""
    case = oracle("softmax/axis")
    got = student.softmax(case.x, axis=case.axis)
    check_array(got, case.expected, f"softmax(x, axis={case.axis})", ("i", "j", "k"))


@graded("1.1", 0.5)
@pytest.mark.parametrize("size", ["large", "small"])
def test_softmax_of_extreme_scores(student, oracle, size):
    """softmax of scores near +-1000 neither overflows nor divides by zero."""
    case = oracle(f"softmax/{size}")
    what = tr("softmax of {size} scores", size=spoken(size))
    check_array(student.softmax(case.x), case.expected, what)


@graded("1.1", 0.5)
def test_softmax_of_rows_far_apart(student, oracle):
    """softmax of rows of very different size in one array."""
    case = oracle("softmax/rows")
    what = tr("softmax of rows of very different size")
    check_array(student.softmax(case.x), case.expected, what, ("row", "i"))


@graded("1.1", 1)
def test_softmax_of_masked_scores(student, oracle):
    """A score of -inf gets weight 0."""
    case = oracle("softmax/masked")
    what = tr("softmax of scores with -inf")
    check_array(student.softmax(case.x), case.expected, what, ("i", "j"))


@graded("1.1", 1, beside="test_softmax")
@given(seed=st.integers(0, 2**16), shift=st.floats(-100, 100))
def test_softmax_ignores_a_common_shift(student, seed, shift):
    """softmax(x + c) = softmax(x), and its weights sum to 1."""
    x = draws.rng(seed).standard_normal((3, 5))
    weights = student.softmax(x)
    check_kind(weights, x, "softmax(x)")
    check_array(weights.argmax(axis=-1), x.argmax(axis=-1), tr("the place of the largest weight"))
    check_array(weights.sum(axis=-1), np.ones(3), tr("the sum of softmax weights"), ("row",))
    check_array(student.softmax(x + shift), weights, f"softmax(x + {shift:.3g})", ("row", "i"))


@graded("1.2", 2, beside=("test_attention_plain", "test_attention_masked"))
def test_attention_by_hand(student):
    """The three tokens worked by hand in D3 give [10, 0], [5, 5] and about [6, 4]."""
    q = np.array([[0.0, 1], [1, 1], [1, 0]])
    k = np.array([[1.0, 0], [0, 1], [1, 1]])
    v = np.array([[10.0, 0], [0, 10], [5, 5]])
    may_attend = np.array([[True, False, False], [True, True, False], [True, True, True]])
    got = student.scaled_dot_product_attention(q, k, v, may_attend)
    e = np.exp(1 / np.sqrt(2))
    third = (e * v[0] + v[1] + e * v[2]) / (2 * e + 1)
    expected = np.array([[10, 0], [5, 5], third])
    check_array(got, expected, tr("attention of the three tokens of D3"), ("token", "feature"))
    factor = float(draws.rng(0).uniform(2, 3))
    got = student.scaled_dot_product_attention(q, k, factor * v, may_attend)
    what = tr("attention of the three tokens of D3, their values times {factor}", factor=factor)
    check_array(got, factor * expected, what, ("token", "feature"))


@graded("1.2", 1)
def test_attention_plain(student, oracle):
    """Attention of one sequence; values may be wider than keys."""
    case = oracle("attention/plain")
    got = student.scaled_dot_product_attention(case.q, case.k, case.v)
    check_array(got, case.expected, "scaled_dot_product_attention(q, k, v)", CORE_AXES)


@graded("1.2", 0.75)
@pytest.mark.parametrize("name", ["masked", "float32"])
def test_attention_masked(student, oracle, name):
    """Attention with batch and head axes and a mask: True = may attend."""
    case = oracle(f"attention/{name}")
    got = student.scaled_dot_product_attention(case.q, case.k, case.v, mask=case.mask)
    check_array(got, case.expected, "scaled_dot_product_attention(q, k, v, mask)", HEAD_AXES)


@graded("1.2", 0.5)
def test_attention_where_all_scores_are_very_negative(student, oracle):
    """A hidden key has weight 0 where all scores are near -20,000 or -100,000 too."""
    case = oracle("attention/very_negative")
    got = student.scaled_dot_product_attention(case.q, case.k, case.v, mask=case.mask)
    what = tr("attention where all scores are very negative")
    check_array(got, case.expected, what, ("batch", *CORE_AXES))


@graded("1.2", 0.5)
def test_attention_to_a_key_of_zeros(student, oracle):
    """A key of zeros has the score 0, and its value counts."""
    case = oracle("attention/zero_key")
    got = student.scaled_dot_product_attention(case.q, case.k, case.v, mask=case.mask)
    what = tr("attention to keys of which some are zero")
    check_array(got, case.expected, what, ("batch", *CORE_AXES))


@graded("1.2", 0.5)
def test_attention_over_many_keys(student, oracle):
    """Attention over hundreds of keys, some of them hidden."""
    case = oracle("attention/many_keys")
    got = student.scaled_dot_product_attention(case.q, case.k, case.v, mask=case.mask)
    what = tr("attention over {n} keys", n=len(case.k))
    check_array(got, case.expected, what, CORE_AXES)


@graded("1.2", 1, beside=("test_attention_plain", "test_attention_masked"))
@given(seed=st.integers(0, 2**16), key_len=st.integers(1, 6))
def test_attention_is_a_lookup(student, seed, key_len):
    """Reordering keys with their values changes nothing; an output lies between its values."""
    rng = draws.rng(seed)
    q, k, v = (rng.standard_normal((n, 4)) for n in (3, key_len, key_len))
    got = student.scaled_dot_product_attention(q, k, v)
    check_kind(got, q, tr("attention over {n} keys", n=key_len))
    if key_len > 1:
        check_differs(got[:-1], got[1:], tr("attention by two different queries"))
    order = rng.permutation(key_len)
    reordered = student.scaled_dot_product_attention(q, k[order], v[order])
    what = tr("attention over {n} reordered keys", n=key_len)
    check_array(reordered, got, what, CORE_AXES)
    inside = (got <= v.max(axis=0) + 1e-9) & (got >= v.min(axis=0) - 1e-9)
    words = tr("an output lies outside the range of the values it averages")
    check(bool(inside.all()), words)
