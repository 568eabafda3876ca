"""Part 5: grouped-query attention and mean pooling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check_array, check_differs, check_kind, check_refused
from .harness.machines import run_decode_machine
from .harness.models import check_grouped_decode, require_grouped_attention
from .harness.points import graded
from .harness.room import check_room
from .harness.usage import check_reads_the_cache
from .harness.words import tr

# Of part 4: a decode that does not use its cache shows nothing of this part.
USED = ("test_decode_uses_the_cache", "test_decode_reads_the_cache")
HEAD_AXES = ("batch", "head", "query", "feature")


@graded("5.1", 0.75)
@pytest.mark.parametrize("name", ["float64", "float32", "one_group", "many_keys"])
def test_gqa(student, oracle, name):
    """Query head h reads key/value head h // R."""
    case = oracle(f"gqa/{name}")
    got = student.grouped_query_attention(case.q, case.k, case.v, mask=case.mask)
    heads, groups = case.q.shape[1], case.k.shape[1]
    what = tr("grouped_query_attention with H = {heads}, G = {groups}", heads=heads, groups=groups)
    check_array(got, case.expected, what, HEAD_AXES)


@graded("5.1", 0.5, beside="test_gqa")
def test_uneven_groups(student):
    """H query heads that G key/value heads cannot share evenly are refused with a ValueError."""
    q, kv = np.ones((1, 4, 1, 2)), np.ones((1, 3, 1, 2))
    value = draws.rng(0).uniform(1, 2)
    got = student.grouped_query_attention(q, kv[:, :2], value * kv[:, :2])
    check_array(got, value * q, tr("GQA over equal values"), HEAD_AXES)
    what = tr("grouped_query_attention with 4 query heads and 3 key/value heads")
    check_refused(lambda: student.grouped_query_attention(q, kv, kv), what)


@graded("5.2", 0.5, beside="test_mean_pool")
def test_uneven_pooling(student):
    """H heads that do not form G equal groups are refused with a ValueError."""
    pair = draws.rng(0).integers(-9, 10, size=(1, 2)).astype(float)
    got = student.mean_pool_kv_heads(pair, 2, 1)
    mean = pair.mean(axis=1, keepdims=True)
    check_array(got, mean, f"mean_pool_kv_heads({pair.tolist()}, 2, 1)")
    w = np.ones((2, 8))
    check_refused(lambda: student.mean_pool_kv_heads(w, 4, 3), "mean_pool_kv_heads(w, 4, 3)")


@graded("5.1", 0.5, beside="test_gqa")
def test_gqa_copies_nothing(student):
    """Keys and values are read where they lie: no array has a copy of them for each query head."""
    rng = draws.rng(0)
    key_len, head_dim = 512, 512
    small, large = (
        [rng.standard_normal(shape) for shape in ((1, n_heads, 1, d), (1, 1, s, d), (1, 1, s, d))]
        for n_heads, s, d in ((2, 3, 4), (64, key_len, head_dim))
    )
    got = check_room(
        student, "grouped_query_attention", small, large, tr("K and V are {n} MiB", n=4)
    )
    check_kind(got, large[0], "grouped_query_attention(q, k, v)")


@graded("5.1", 1, beside="test_gqa")
@given(seed=st.integers(0, 2**16), n_groups=st.integers(1, 3), group_size=st.integers(1, 3))
def test_gqa_is_mha_with_repeated_heads(student, seed, n_groups, group_size):
    """GQA equals MHA with each group's K and V repeated: G = H is MHA, G = 1 is MQA (L2 §6.2)."""
    rng = draws.rng(seed)
    q = rng.standard_normal((2, n_groups * group_size, 3, 4))
    k, v = rng.standard_normal((2, 2, n_groups, 5, 4))
    got = student.grouped_query_attention(q, k, v)
    sizes = {"n": n_groups, "size": group_size}
    check_kind(got, q, tr("GQA with {n} groups of {size} heads", **sizes))
    check_differs(student.grouped_query_attention(-q, k, v), got, tr("GQA with other queries"))
    repeated_k, repeated_v = (np.repeat(x, group_size, axis=1) for x in (k, v))
    expected = student.scaled_dot_product_attention(q, repeated_k, repeated_v)
    what = tr("GQA with {n} groups of {size} heads, compared with MHA", **sizes)
    check_array(got, expected, what, HEAD_AXES)


@graded("5.1", 0.75, needs=USED)
def test_grouped_decode_reads_the_cache(student, oracle):
    """A decode step with G < H attends to what append alone has put into the cache."""
    check_reads_the_cache(student, oracle("filled/gqa"))


@graded("5.1", 0.5, needs=(*USED, "test_grouped_decode_reads_the_cache"))
@pytest.mark.parametrize("name", ["gqa", "gqa_float32", "mqa"])
def test_decode_of_a_grouped_model(student, oracle, name):
    """Part 4's decode, with grouped_query_attention, on a model with G < H."""
    check_grouped_decode(student, oracle(f"decode/{name}"))


@graded("5.1", 0.75, needs=USED)
def test_grouped_generate(student, oracle):
    """Part 4's generate on a model with G < H: its cache has G heads."""
    require_grouped_attention(student)
    case = oracle("far/grouped_generate")
    model = student.load_model(case.config, case.params)
    got = student.generate(model, case.prompt, case.max_new_tokens)
    what = f"generate(model, prompt, {case.max_new_tokens})"
    check_array(got, case.expected, what, ("batch", "step"))


@graded("5.1", 0.5, needs=(*USED, "test_grouped_decode_reads_the_cache"))
def test_grouped_decode_under_any_use(student):
    """Any order of prefill chunks, decode steps and truncations equals a recompute, with G < H."""
    require_grouped_attention(student)
    run_decode_machine(student, n_kv_heads=2, max_examples=3)


@graded("5.2", 1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mean_pool(student, oracle, dtype):
    """Group g of the pooled projection is the mean of heads g*R to (g+1)*R - 1."""
    case = oracle(f"mean_pool/{dtype}")
    got = student.mean_pool_kv_heads(case.w, case.n_heads, case.n_kv_heads)
    what = f"mean_pool_kv_heads(w, {case.n_heads}, {case.n_kv_heads})"
    check_array(got, case.expected, what, ("row", "column"))


@graded("5.2", 1, beside="test_mean_pool")
@given(seed=st.integers(0, 2**16), n_groups=st.integers(1, 4), group_size=st.integers(1, 4))
def test_mean_pool_undoes_repetition(student, seed, n_groups, group_size):
    """Identical heads pool back to the head they were copied from (L2 §6.3)."""
    w = draws.rng(seed).standard_normal((5, n_groups, 1, 3))
    repeated = np.repeat(w, group_size, axis=2).reshape(5, -1)
    got = student.mean_pool_kv_heads(repeated, n_groups * group_size, n_groups)
    what = tr("{n} groups of {size} equal heads, pooled", n=n_groups, size=group_size)
    check_array(got, w.reshape(5, -1), what, ("row", "column"))
