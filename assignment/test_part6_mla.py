"""Part 6: multi-head latent attention, naive and absorbed, and its cache."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check_array, check_differs, check_kind
from .harness.models import (
    POSITION_AXES,
    check_length,
    check_long_prefill,
    check_refusals,
    check_refuses_one_more,
    check_trace,
    full_at,
    new_latent_cache,
)
from .harness.points import graded
from .harness.room import check_room
from .harness.usage import (
    LATENT,
    check_cache_is_used,
    check_reads_the_cache,
    check_work_of_a_step,
)
from .harness.words import tr

USED = ("test_mla_decode_uses_the_cache", "test_mla_decode_reads_the_cache")
EXPANDS = "test_absorbed_expands_nothing"
HEAD_AXES = ("batch", "head", "query", "feature")
INPUTS = ("q_nope", "q_rope", "latent", "k_rope", "w_uk", "w_uv")


def inputs_of(case):
    return [getattr(case, name) for name in INPUTS]


@graded("6.1", 0.75)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mla_naive(student, oracle, dtype):
    """Expand every head's keys and values from the latent, then attend."""
    case = oracle(f"mla/{dtype}")
    got = student.mla_naive(*inputs_of(case), mask=case.mask)
    check_array(got, case.expected, "mla_naive(...)", HEAD_AXES)


@graded("6.1", 0.5)
def test_mla_naive_over_many_positions(student, oracle):
    """The same over hundreds of positions."""
    case = oracle("mla/many_keys")
    got = student.mla_naive(*inputs_of(case), mask=case.mask)
    what = tr("mla_naive over {n} positions", n=case.latent.shape[1])
    check_array(got, case.expected, what, HEAD_AXES)


@graded("6.2", 1)
def test_absorb(student, oracle):
    """W_uk moves from the keys to the query, head by head."""
    case = oracle("mla/absorb")
    got = student.absorb(case.q_nope, case.w_uk)
    check_array(got, case.expected, "absorb(q_nope, w_uk)", HEAD_AXES)


@graded("6.3", 0.25, needs=EXPANDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_mla_absorbed(student, oracle, dtype):
    """Attention in the latent space gives what the expanded heads give."""
    case = oracle(f"mla/{dtype}")
    got = student.mla_absorbed(*inputs_of(case), mask=case.mask)
    check_array(got, case.expected, "mla_absorbed(...)", HEAD_AXES)


@graded("6.3", 0.5, needs=EXPANDS)
def test_mla_absorbed_over_many_positions(student, oracle):
    """Attention in the latent space over hundreds of positions."""
    case = oracle("mla/many_keys")
    got = student.mla_absorbed(*inputs_of(case), mask=case.mask)
    what = tr("mla_absorbed over {n} positions", n=case.latent.shape[1])
    check_array(got, case.expected, what, HEAD_AXES)


@graded("6.3", 0.5, beside="test_mla_absorbed")
def test_absorbed_expands_nothing(student):
    """No head's keys or values are formed: the latent is attended to as it lies."""
    rng = draws.rng(0)
    n_heads, rope_dim, v_dim = 2, 4, 4
    small, large = (
        [
            rng.standard_normal(shape)
            for shape in (
                (1, n_heads, 1, nope_dim),
                (1, n_heads, 1, rope_dim),
                (1, key_len, latent_dim),
                (1, key_len, rope_dim),
                (latent_dim, n_heads * nope_dim),
                (latent_dim, n_heads * v_dim),
            )
        ]
        for nope_dim, key_len, latent_dim in ((3, 2, 5), (8192, 1024, 8))
    )
    given_ = tr("the latent of all positions is {n} MiB", n=0.1)
    got = check_room(student, "mla_absorbed", small, large, given_)
    check_kind(got, np.empty((1, n_heads, 1, v_dim)), "mla_absorbed(...)")


@graded("6.3", 0.5, needs=EXPANDS, beside="test_mla_absorbed")
@given(seed=st.integers(0, 2**16), n_heads=st.integers(1, 4), key_len=st.integers(1, 5))
def test_absorbed_equals_naive(student, seed, n_heads, key_len):
    """The two ways are the same computation (L2 §6.4)."""
    rng = draws.rng(seed)
    inputs = (
        rng.standard_normal((2, n_heads, 3, 5)),
        rng.standard_normal((2, n_heads, 3, 4)),
        rng.standard_normal((2, key_len, 6)),
        rng.standard_normal((2, key_len, 4)),
        rng.standard_normal((6, n_heads * 5)),
        rng.standard_normal((6, n_heads * 7)),
    )
    naive, absorbed = student.mla_naive(*inputs), student.mla_absorbed(*inputs)
    check_kind(absorbed, np.empty((2, n_heads, 3, 7)), "mla_absorbed(...)")
    others = (-inputs[0], *inputs[1:])
    if key_len > 1:
        check_differs(
            student.mla_absorbed(*others), absorbed, tr("mla_absorbed with other queries")
        )
    what = tr("mla_absorbed, compared with mla_naive, H = {n}", n=n_heads)
    check_array(absorbed, naive, what, HEAD_AXES)


@graded("6.4", 0.25, own_values=True)
def test_latent_cache_of_many_positions(student):
    """A latent cache gives back every row it holds, however many there are."""
    rng = draws.rng(0)
    n_positions = int(rng.integers(256, 300))
    cache = student.MLACache(1, 1, n_positions, 3, 2, np.dtype(float))
    latent, k_rope = (
        rng.standard_normal((1, n_positions, 3)),
        rng.standard_normal((1, n_positions, 2)),
    )
    start = 0
    while start < n_positions:
        end = min(start + int(rng.integers(1, 16)), n_positions)
        latents, rope_keys = cache.append(0, latent[:, start:end], k_rope[:, start:end])
        place = {"layer": 0, "first": start, "last": end - 1}
        what = tr(
            "latents of layer {layer} after positions {first} to {last} were appended", **place
        )
        check_array(latents, latent[:, :end], what, ("batch", "position", "feature"))
        what = tr(
            "RoPE keys of layer {layer} after positions {first} to {last} were appended", **place
        )
        check_array(rope_keys, k_rope[:, :end], what)
        check_length(cache, end, tr("after {n} positions", n=end))
        start = end


@graded("6.4", 0.25, own_values=True)
def test_latent_cache(student):
    """The cache returns all it holds, counts whole positions, and forgets what it truncates."""
    rng = draws.rng(0)
    cache = student.MLACache(2, 3, 6, 5, 2, np.dtype(float))
    latent, k_rope = rng.standard_normal((3, 6, 5)), rng.standard_normal((3, 6, 2))
    for start, end in ((0, 2), (2, 5), (3, 4)):
        cache.truncate(start)
        for layer in (0, 1):
            latents, rope_keys = cache.append(
                layer, (layer + 1) * latent[:, start:end], k_rope[:, start:end]
            )
            place = {"layer": layer, "first": start, "last": end - 1}
            expected = (layer + 1) * latent[:, :end]
            what = tr(
                "latents of layer {layer} after positions {first} to {last} were appended", **place
            )
            check_array(latents, expected, what, ("batch", "position", "feature"))
            what = tr(
                "RoPE keys of layer {layer} after positions {first} to {last} were appended",
                **place,
            )
            check_array(rope_keys, k_rope[:, :end], what)


@graded("6.4", 0.25, beside="test_latent_cache")
def test_latent_cache_length_counts_whole_positions(student):
    """length counts the positions that EVERY layer holds."""
    cache = student.MLACache(2, 1, 4, 5, 2, np.dtype(float))
    rng = draws.rng(0)
    block = rng.standard_normal((1, 3, 5)), rng.standard_normal((1, 3, 2))
    check_length(cache, 0, tr("of a new cache of 2 layers"))
    cache.append(0, *block)
    check_length(cache, 0, tr("when only layer 0 of 2 holds 3 positions"))
    cache.append(1, *block)
    check_length(cache, 3, tr("when both layers hold 3 positions"))


@graded("6.4", 0.25, beside="test_latent_cache")
def test_latent_cache_refuses_what_it_cannot_hold(student):
    """More than max_len positions, or truncating to what it does not hold: ValueError."""
    rng = draws.rng(0)
    held, max_len = full_at(rng)
    cache = student.MLACache(1, 1, max_len, 5, 2, np.dtype(float))
    latent, k_rope = (rng.standard_normal((1, max_len + 1, width)) for width in (5, 2))
    cache.append(0, latent[:, :held], k_rope[:, :held])
    check_refusals(cache, held, max_len, latent[:, held:], k_rope[:, held:])
    latents, rope_keys = cache.append(0, latent[:, held:-1], k_rope[:, held:-1])
    check_array(latents, latent[:, :-1], tr("latents from append up to max_len"))
    check_array(rope_keys, k_rope[:, :-1], tr("RoPE keys from append up to max_len"))
    check_refuses_one_more(cache, latent[:, -1:], k_rope[:, -1:])


@graded("6.5", 0.75)
@pytest.mark.parametrize("name", ["decode", "decode_compressed"])
def test_mla_prefill(student, oracle, name):
    """mla_prefill of 1, 2, 3, ... tokens gives the reference's logits at every position."""
    case = oracle(f"mla/{name}")
    model = student.load_model(case.config, case.params)
    dtype = case.prefill_logits.dtype
    got = []
    for end in range(1, case.prompt.shape[1] + 1):
        tokens = case.prompt[:, :end]
        cache = new_latent_cache(student, case.config, *tokens.shape, dtype)
        got.append(student.mla_prefill(model, tokens, cache))
    check_trace(got, case.prefill_logits, tr("the logits of mla_prefill"), POSITION_AXES)


@graded("6.5", 0.5)
def test_mla_prefill_of_a_long_prompt(student, oracle):
    """Hundreds of tokens at once, and the same in three long chunks, for a latent model."""
    case = oracle("far/mla_prefill")
    model = student.load_model(case.config, case.params)

    def cache():
        return new_latent_cache(student, case.config, *case.tokens.shape, float)

    check_long_prefill(student.mla_prefill, model, case, cache)


@graded("6.6", 0.75, needs=USED)
def test_mla_decode_of_a_long_text(student, oracle):
    """Decode steps of a latent model up to hundreds of positions."""
    case = oracle("far/mla_decode")
    model = student.load_model(case.config, case.params)
    n_positions = case.prompt.shape[1] + case.continuation.shape[1]
    cache = new_latent_cache(student, case.config, len(case.prompt), n_positions, float)
    got = [student.mla_prefill(model, case.prompt, cache)]
    got += [student.mla_decode_step(model, token, cache) for token in case.continuation.T]
    what = tr("{what} (step 0 is the prefill's)", what=tr("the logits"))
    check_trace(got, case.decode_logits, what)


@graded("6.6", 0.75, needs=USED)
@pytest.mark.parametrize("name", ["decode", "decode_compressed", "decode_float32"])
def test_mla_decode(student, oracle, name):
    """Every step from the latent cache gives the logits of a recompute."""
    case = oracle(f"mla/{name}")
    model = student.load_model(case.config, case.params)
    n_positions = case.prompt.shape[1] + case.continuation.shape[1]
    dtype = case.decode_logits.dtype
    cache = new_latent_cache(student, case.config, len(case.prompt), n_positions, dtype)
    got = [student.mla_prefill(model, case.prompt[:, :3], cache)]
    got[0] = student.mla_prefill(model, case.prompt[:, 3:], cache)
    got += [student.mla_decode_step(model, token, cache) for token in case.continuation.T]
    what = tr("the logits (step 0 is the prefill's, in two chunks)")
    check_trace(got, case.decode_logits, what)


@graded("6.6", 0.5, needs="test_mla_decode_reads_the_cache")
def test_mla_decode_uses_the_cache(student, oracle):
    """A decode step does the work of one token and never reads the old tokens again."""
    case = oracle("mla/decode")
    check_cache_is_used(student, case, LATENT)
    check_work_of_a_step(student, case, LATENT)


@graded("6.6", 0.5, needs="test_mla_decode_uses_the_cache")
def test_mla_decode_reads_the_cache(student, oracle):
    """A decode step on a cache filled with append alone attends to what was put in."""
    check_reads_the_cache(student, oracle("filled/latent"), LATENT)
