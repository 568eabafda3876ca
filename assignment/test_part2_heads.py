"""Part 2: the causal mask, splitting and merging heads, multi-head attention."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check_array, check_differs, check_kind
from .harness.points import graded
from .harness.words import tr

SEQUENCE_AXES = ("batch", "position", "feature")
HEAD_AXES = ("batch", "head", "position", "feature")


@graded("2.1", 2)
def test_causal_mask(student, oracle):
    """Each position sees itself and what came before."""
    check_mask(student, oracle("causal_mask/square"))
    check_array(student.causal_mask(1, 1), np.array([[True]]), "causal_mask(1, 1)")


@graded("2.1", 1.5)
def test_causal_mask_with_a_cache(student, oracle):
    """The queries are the LAST positions: the first of them already sees the cached keys."""
    for name in ("chunk", "one_query"):
        check_mask(student, oracle(f"causal_mask/{name}"))


@graded("2.1", 0.5)
def test_causal_mask_of_many_positions(student, oracle):
    """The same for hundreds of positions."""
    check_mask(student, oracle("causal_mask/many"))


def check_mask(student, case):
    what = f"causal_mask({case.query_len}, {case.key_len})"
    got = student.causal_mask(case.query_len, case.key_len)
    check_array(got, case.expected, what, ("query", "key"))


@graded("2.2", 2)
def test_split_heads(student, oracle):
    """Head h takes columns h*d_h to (h+1)*d_h of every position."""
    case = oracle("split_heads")
    got = student.split_heads(case.x, case.n_heads)
    check_array(got, case.expected, f"split_heads(x, {case.n_heads})", HEAD_AXES)


@graded("2.3", 1)
def test_merge_heads(student, oracle):
    """Heads are laid side by side."""
    case = oracle("merge_heads")
    check_array(student.merge_heads(case.x), case.expected, "merge_heads(x)", SEQUENCE_AXES)


@graded("2.3", 1, beside="test_merge_heads")
@given(
    batch=st.integers(1, 3),
    length=st.integers(1, 4),
    n_heads=st.integers(1, 4),
    head_dim=st.integers(1, 4),
)
def test_merge_undoes_split(student, batch, length, n_heads, head_dim):
    """merge_heads(split_heads(x, H)) = x, to the bit."""
    numbers = draws.rng(0).permutation(batch * length * n_heads * head_dim)
    x = numbers.astype(np.float64).reshape(batch, length, n_heads * head_dim)
    split = student.split_heads(x, n_heads)
    check_kind(split, np.empty((batch, n_heads, length, head_dim)), f"split_heads(x, {n_heads})")
    got = student.merge_heads(split)
    check_array(got, x, f"merge_heads(split_heads(x, {n_heads}))", SEQUENCE_AXES)


@graded("2.4", 1.75)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_multi_head_attention(student, oracle, dtype):
    """Project, split, attend causally, merge and mix."""
    case = oracle(f"multi_head_attention/{dtype}")
    got = student.multi_head_attention(case.x, case.w_q, case.w_k, case.w_v, case.w_o, case.n_heads)
    check_array(got, case.expected, "multi_head_attention(x, ...)", SEQUENCE_AXES)


@graded("2.4", 0.5)
def test_multi_head_attention_over_many_positions(student, oracle):
    """Every position attends to itself and to all before it, in a long text too."""
    case = oracle("multi_head_attention/many")
    got = student.multi_head_attention(case.x, case.w_q, case.w_k, case.w_v, case.w_o, case.n_heads)
    what = tr("multi_head_attention over {n} positions", n=case.x.shape[1])
    check_array(got, case.expected, what, SEQUENCE_AXES)


@graded("2.4", 2, beside="test_multi_head_attention")
@given(seed=st.integers(0, 2**16), changed=st.integers(1, 5))
def test_the_causal_mask_leaks_nothing(student, seed, changed):
    """Change token j: the outputs before j stay what they were (L2 §2.5)."""
    rng = draws.rng(seed)
    x = rng.standard_normal((1, 6, 8))
    weights = [rng.standard_normal((8, 6)) for _ in range(3)] + [rng.standard_normal((6, 8))]
    before = student.multi_head_attention(x, *weights, 2)
    altered = x.copy()
    altered[:, changed] = rng.standard_normal(8)
    after = student.multi_head_attention(altered, *weights, 2)
    check_kind(before, x, "multi_head_attention(x, ...)")
    what = tr("the output before position {n}, the only one whose token was changed", n=changed)
    check_array(after[:, :changed], before[:, :changed], what, SEQUENCE_AXES)
    check_differs(
        after[:, changed], before[:, changed], tr("the output where the token was changed")
    )
