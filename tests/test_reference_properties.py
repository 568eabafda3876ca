"""What must hold for every model: causality, relative positions, independent rows, limits."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_model as reference

ROUNDING = 1e-12
VOCABULARY = 23

seeds = st.integers(0, 2**32 - 1)


@st.composite
def llama_configs(draw) -> reference.ModelConfig:
    n_kv_heads = draw(st.integers(1, 3))
    return reference.ModelConfig(
        name="drawn",
        n_layers=draw(st.integers(1, 3)),
        d_model=draw(st.integers(3, 12)),
        n_heads=n_kv_heads * draw(st.integers(1, 3)),
        n_kv_heads=n_kv_heads,
        head_dim=2 * draw(st.integers(1, 4)),
        d_ff=draw(st.integers(1, 16)),
        vocab_size=VOCABULARY,
        rope_theta=draw(st.sampled_from([100.0, 10000.0, 500000.0])),
        tied=draw(st.booleans()),
    )


@st.composite
def mla_configs(draw) -> reference.MLAConfig:
    return reference.MLAConfig(
        name="drawn",
        n_layers=draw(st.integers(1, 3)),
        d_model=draw(st.integers(3, 12)),
        n_heads=draw(st.integers(1, 4)),
        latent_dim=draw(st.integers(2, 8)),
        nope_dim=draw(st.integers(1, 6)),
        rope_dim=2 * draw(st.integers(1, 3)),
        v_dim=draw(st.integers(1, 6)),
        query_latent_dim=draw(st.none() | st.integers(2, 8)),
        d_ff=draw(st.integers(1, 16)),
        vocab_size=VOCABULARY,
        tied=draw(st.booleans()),
    )


@st.composite
def models(draw):
    """(forward, config, params) of either kind of model, with random weights."""
    config = draw(llama_configs() | mla_configs())
    seed = draw(seeds)
    if isinstance(config, reference.MLAConfig):
        return reference.mla_logits, config, reference.init_mla(config, seed)
    return reference.llama_logits, config, reference.init_llama(config, seed)


def token_arrays(min_length: int = 1, max_length: int = 9):
    def drawn(seed: int, batch: int, length: int) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, VOCABULARY, (batch, length))

    return st.builds(drawn, seeds, st.integers(1, 3), st.integers(min_length, max_length))


quick = settings(max_examples=40, deadline=None)


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Relative to the logits' own size, which a tied random embedding makes large."""
    assert a.shape == b.shape
    return float(np.max(np.abs(a - b)) / max(1.0, np.max(np.abs(b))))


# Whole models


@quick
@given(models(), token_arrays(min_length=2), st.data())
def test_logits_do_not_depend_on_later_tokens(model, tokens, data):
    forward, config, params = model
    changed_at = data.draw(st.integers(1, tokens.shape[1] - 1))
    changed = tokens.copy()
    changed[:, changed_at:] = (changed[:, changed_at:] + 1) % VOCABULARY

    before, after = forward(config, params, tokens), forward(config, params, changed)

    assert largest_difference(after[:, :changed_at], before[:, :changed_at]) <= ROUNDING
    assert largest_difference(after[:, changed_at], before[:, changed_at]) > 1e-6


@quick
@given(models(), token_arrays(), st.integers(-20_000, 20_000))
def test_shifting_all_positions_alike_changes_nothing(model, tokens, shift):
    forward, config, params = model
    shifted = forward(config, params, tokens, positions=np.arange(tokens.shape[1]) + shift)
    # An angle near 2e4 carries an absolute rounding error of about 4e-12.
    assert largest_difference(shifted, forward(config, params, tokens)) <= 1e-8


@quick
@given(models(), token_arrays(), seeds)
def test_each_row_has_its_own_positions(model, tokens, seed):
    forward, config, params = model
    steps = np.random.default_rng(seed).integers(1, 5, tokens.shape)
    positions = np.cumsum(steps, axis=1)
    together = forward(config, params, tokens, positions=positions)
    for row, row_positions in enumerate(positions):
        alone = forward(config, params, tokens[row : row + 1], positions=row_positions)
        assert largest_difference(together[row : row + 1], alone) <= ROUNDING


@pytest.mark.parametrize("kind", ["llama", "mla"])
def test_a_newest_token_that_believes_it_is_first_is_noticed(kind):
    """L2 §5.3: a decode step at position 0. Not everything about positions cancels."""
    if kind == "llama":
        config = reference.ModelConfig("m", 2, 12, 4, 2, 6, 20, VOCABULARY)
        forward, params = reference.llama_logits, reference.init_llama(config, 0)
    else:
        config = reference.MLAConfig("m", 2, 12, 4, 7, 5, 6, 3, None, 20, VOCABULARY)
        forward, params = reference.mla_logits, reference.init_mla(config, 0)
    tokens = np.arange(8)[None]
    positions = np.arange(8)
    positions[-1] = 0
    right, wrong = (forward(config, params, tokens, positions=p) for p in (None, positions))
    assert largest_difference(wrong[:, :-1], right[:, :-1]) <= ROUNDING
    assert largest_difference(wrong[:, -1], right[:, -1]) > 0.01


@quick
@given(models(), token_arrays())
def test_rows_of_a_batch_are_independent(model, tokens):
    forward, config, params = model
    together = forward(config, params, tokens)
    for row in range(len(tokens)):
        alone = forward(config, params, tokens[row : row + 1])
        assert largest_difference(together[row : row + 1], alone) <= ROUNDING


@quick
@given(models(), token_arrays(min_length=2), st.data())
def test_decode_trace_is_the_rows_of_one_forward(model, tokens, data):
    forward, config, params = model
    prompt_len = data.draw(st.integers(1, tokens.shape[1]))
    prompt, continuation = tokens[:, :prompt_len], tokens[:, prompt_len:]

    trace = reference.decode_trace(config.to_dict(), params, prompt, continuation)
    rows = forward(config, params, tokens)[:, prompt_len - 1 :]

    assert largest_difference(trace, np.moveaxis(rows, 1, 0)) <= ROUNDING


@quick
@given(models(), token_arrays())
def test_last_only_is_the_last_row(model, tokens):
    forward, config, params = model
    last = forward(config, params, tokens, last_only=True)
    assert largest_difference(last, forward(config, params, tokens)[:, -1:]) <= ROUNDING


@quick
@given(models(), token_arrays(), st.integers(0, 4))
def test_greedy_continuation_takes_the_largest_logit_of_each_step(model, tokens, n_new):
    _, config, params = model
    chosen = reference.greedy_continuation(config, params, tokens, n_new)
    assert chosen.shape == (len(tokens), n_new)
    trace = reference.decode_trace(config, params, tokens, chosen)
    np.testing.assert_array_equal(trace.argmax(axis=-1)[:n_new].T, chosen)


@quick
@given(models(), token_arrays())
def test_inputs_stay_as_they_were(model, tokens):
    forward, config, params = model
    copies = {name: value.copy() for name, value in params.items()}
    tokens_before = tokens.copy()
    forward(config, params, tokens)
    np.testing.assert_array_equal(tokens, tokens_before)
    for name, value in copies.items():
        np.testing.assert_array_equal(params[name], value)


@quick
@given(llama_configs() | mla_configs(), seeds)
def test_a_seed_gives_the_same_parameters_and_a_float32_copy_rounds_them(config, seed):
    is_mla = isinstance(config, reference.MLAConfig)
    init = reference.init_mla if is_mla else reference.init_llama
    first, again = init(config, seed), init(config.to_dict(), seed)
    rounded = init(config, seed, np.float32)
    reference.check_params(config, first)
    for name, value in first.items():
        np.testing.assert_array_equal(value, again[name], strict=True)
        np.testing.assert_array_equal(value.astype(np.float32), rounded[name], strict=True)
    assert not np.array_equal(first["embedding"], init(config, seed + 1)["embedding"])


def test_random_parameters_have_the_promised_spread():
    config = reference.MLAConfig("m", 2, 200, 4, 90, 30, 20, 40, 70, 300, 500)
    for name, value in reference.init_mla(config, seed=1).items():
        if name.endswith("norm"):
            assert 0.5 <= value.min() < 0.6 and 1.4 < value.max() <= 1.5, name
        else:
            fan_in = 1 if name == "embedding" else value.shape[0]
            assert abs(value.std() * np.sqrt(fan_in) - 1) < 0.05, name


# Attention


def normal(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def test_attention_is_the_loop_it_stands_for():
    q, k, v = normal(0, (5, 4), (7, 4), (7, 3))
    mask = reference.causal_mask(5, 7)
    out = reference.attention(q, k, v, mask)
    for t in range(5):
        seen = range(3 + t)
        powers = [np.exp(sum(q[t] * k[s]) / 2.0) for s in seen]
        expected = sum(power * v[s] for power, s in zip(powers, seen, strict=True)) / sum(powers)
        np.testing.assert_allclose(out[t], expected, rtol=0, atol=1e-14)


@quick
@given(seeds, st.integers(1, 3), st.integers(1, 3), st.integers(1, 6))
def test_gqa_limits(seed, n_kv_heads, heads_per_group, length):
    """G = H is multi-head attention; G < H is multi-head attention over copied heads."""
    n_heads = n_kv_heads * heads_per_group
    q, k, v = normal(
        seed, (2, n_heads, length, 4), (2, n_kv_heads, length, 4), (2, n_kv_heads, length, 3)
    )
    mask = reference.causal_mask(length, length)
    group_of_head = [head // heads_per_group for head in range(n_heads)]
    copied = reference.attention(q, k[:, group_of_head], v[:, group_of_head], mask)
    grouped = reference.grouped_query_attention(q, k, v, mask)
    assert largest_difference(grouped, copied) <= ROUNDING


def test_gqa_masks_each_head_and_row_by_its_own_mask():
    q, k, v = normal(1, (2, 4, 3, 6), (2, 2, 5, 6), (2, 2, 5, 6))
    mask = np.random.default_rng(2).random((2, 4, 3, 5)) < 0.5
    mask[..., 0] = True
    together = reference.grouped_query_attention(q, k, v, mask)
    for row in range(2):
        for head in range(4):
            alone = reference.attention(
                q[row, head], k[row, head // 2], v[row, head // 2], mask[row, head]
            )
            np.testing.assert_allclose(together[row, head], alone, rtol=0, atol=1e-14)


@quick
@given(mla_configs(), seeds, st.integers(1, 4), st.integers(0, 4))
def test_absorbed_mla_is_naive_mla(config, seed, query_len, earlier):
    """q (W_uk c) = (q W_uk^T) c: the same attention inside the latent space. (L2 §6.4)"""
    heads, nope, rope = config.n_heads, config.nope_dim, config.rope_dim
    latent_dim, v_dim, key_len = config.latent_dim, config.v_dim, query_len + earlier
    q_nope, q_rope, latent, k_rope, w_uk, w_uv = normal(
        seed,
        (2, heads, query_len, nope),
        (2, heads, query_len, rope),
        (2, key_len, latent_dim),
        (2, key_len, rope),
        (latent_dim, heads * nope),
        (latent_dim, heads * v_dim),
    )
    mask = reference.causal_mask(query_len, key_len)
    naive = reference.mla_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask)

    uk = w_uk.reshape(latent_dim, heads, nope)
    uv = w_uv.reshape(latent_dim, heads, v_dim)
    q_latent = np.einsum("bhtn,chn->bhtc", q_nope, uk)
    scores = np.einsum("bhtc,bsc->bhts", q_latent, latent)
    scores += np.einsum("bhtr,bsr->bhts", q_rope, k_rope)
    scores = np.where(mask, scores / np.sqrt(nope + rope), -np.inf)
    mixed = np.einsum("bhts,bsc->bhtc", reference.softmax(scores), latent)
    absorbed = np.einsum("bhtc,chv->bhtv", mixed, uv)

    assert largest_difference(naive, absorbed) <= ROUNDING


@quick
@given(st.integers(1, 8), st.integers(0, 8))
def test_causal_mask_is_the_last_rows_of_the_square_one(query_len, earlier):
    key_len = query_len + earlier
    square = np.tril(np.ones((key_len, key_len), dtype=bool))
    mask = reference.causal_mask(query_len, key_len)
    np.testing.assert_array_equal(mask, square[earlier:], strict=True)


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 5))
def test_splitting_and_merging_heads_are_inverse(seed, n_heads, head_dim):
    (x,) = normal(seed, (2, 3, n_heads * head_dim))
    heads = reference.split_heads(x, n_heads)
    assert heads.shape == (2, n_heads, 3, head_dim)
    np.testing.assert_array_equal(heads[:, -1], x[..., -head_dim:])
    np.testing.assert_array_equal(reference.merge_heads(heads), x)


@quick
@given(seeds, st.floats(-1e4, 1e4))
def test_softmax_ignores_a_common_offset(seed, offset):
    (x,) = normal(seed, (3, 5))
    weights = reference.softmax(x + offset)
    assert largest_difference(weights, reference.softmax(x)) <= 1e-11
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=0, atol=1e-14)
    np.testing.assert_allclose(reference.softmax(x, axis=0), reference.softmax(x.T).T, atol=1e-15)


# RoPE


@quick
@given(seeds, st.integers(0, 10**5))
def test_rope_is_multiplication_by_a_unit_complex_number(seed, position):
    (x,) = normal(seed, (1, 8))
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    turned = pairs * np.exp(1j * position * 10000.0 ** (-np.arange(4) / 4))
    rotated = reference.rope(x, np.array([position]))
    np.testing.assert_allclose(rotated[..., 0::2], turned.real, rtol=0, atol=1e-9)
    np.testing.assert_allclose(rotated[..., 1::2], turned.imag, rtol=0, atol=1e-9)
    assert abs(np.linalg.norm(rotated) - np.linalg.norm(x)) < 1e-13


def test_rope_of_a_batch_with_heads_uses_each_rows_positions():
    (x,) = normal(3, (2, 5, 3, 6))
    positions = np.array([[0, 1, 2], [7, 9, 4]])
    together = reference.rope(x, positions)
    for row in range(2):
        for head in range(5):
            alone = reference.rope(x[row, head], positions[row])
            np.testing.assert_array_equal(together[row, head], alone)


# The small layers


def test_rmsnorm_is_its_formula():
    x, weight = np.array([3.0, -4.0]), np.array([2.0, 0.5])
    expected = [3 / np.sqrt(12.5 + 0.5) * 2, -4 / np.sqrt(12.5 + 0.5) * 0.5]
    np.testing.assert_allclose(reference.rmsnorm(x, weight, 0.5), expected, rtol=1e-15)


def test_silu_is_its_formula_and_does_not_overflow():
    x = np.linspace(-30, 30, 61)
    np.testing.assert_allclose(reference.silu(x), x / (1 + np.exp(-x)), rtol=0, atol=1e-14)
    with np.errstate(all="raise"):
        assert reference.silu(np.array([-1e4, 1e4])).tolist() == [0, 1e4]


def test_swiglu_gates_with_the_gate_and_not_with_the_up_projection():
    x, w_gate, w_up, w_down = normal(4, (2, 3), (3, 5), (3, 5), (5, 3))
    expected = (reference.silu(x @ w_gate) * (x @ w_up)) @ w_down
    np.testing.assert_allclose(reference.swiglu(x, w_gate, w_up, w_down), expected, atol=1e-14)


# Sampling


logit_rows = st.lists(st.integers(-8, 8).map(float), min_size=1, max_size=12)


@quick
@given(logit_rows, st.integers(1, 15))
def test_top_k_keeps_exactly_the_largest(row, k):
    kept = np.isfinite(reference.top_k(row, k))
    assert kept.sum() == min(k, len(row))
    dropped = np.array(row)[~kept]
    assert dropped.size == 0 or dropped.max() <= np.array(row)[kept].min()


def test_top_k_prefers_the_lower_token_among_equals():
    assert reference.top_k([[1.0, 2.0, 2.0, 2.0]], 2).tolist() == [[-np.inf, 2, 2, -np.inf]]


@quick
@given(logit_rows, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_set_that_reaches_p(row, p):
    probabilities = reference.softmax(row)
    kept = np.isfinite(reference.top_p(row, p))
    assert probabilities[kept].sum() >= p - 1e-12
    assert probabilities[kept].sum() - probabilities[kept].min() < p + 1e-12
    if not kept.all():
        assert probabilities[kept].min() >= probabilities[~kept].max()


def test_top_p_keeps_the_token_that_crosses():
    logits = np.log([[0.5, 0.3, 0.2]])
    assert np.isfinite(reference.top_p(logits, 0.6)).tolist() == [[True, True, False]]
    assert np.isfinite(reference.top_p(logits, 0.4)).tolist() == [[True, False, False]]
    assert np.isfinite(reference.top_p(logits, 1.0)).tolist() == [[True, True, True]]


def test_filters_leave_the_kept_logits_as_they_were():
    logits = np.random.default_rng(5).standard_normal((2, 3, 9))
    for filtered in (reference.top_k(logits, 4), reference.top_p(logits, 0.7)):
        assert filtered.shape == logits.shape
        kept = np.isfinite(filtered)
        np.testing.assert_array_equal(filtered[kept], logits[kept])
        assert np.all(filtered[~kept] == -np.inf)


@quick
@given(logit_rows)
def test_low_temperature_is_greedy(row):
    weights = reference.softmax(reference.temperature(row, 1e-3))
    best = np.array(row) == max(row)
    np.testing.assert_allclose(weights, best / best.sum(), rtol=0, atol=1e-12)


# ---- What the oracle says when it is asked for something that makes no sense

LLAMA = reference.ModelConfig("llama", 2, 12, 4, 2, 6, 20, 23)
MLA = reference.MLAConfig("mla", 2, 12, 4, 7, 5, 6, 3, None, 20, 23)
TOKENS = np.arange(6).reshape(2, 3)
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_kv_heads": 3}, "n_heads must be a multiple of n_kv_heads.*4 query heads"),
        ({"head_dim": 5}, "head_dim must be even.*5"),
        ({"n_layers": 0}, "n_layers must be a positive integer, not 0"),
        ({"d_ff": 2.5}, "d_ff must be a positive integer, not 2.5"),
        ({"vocab_size": True}, "vocab_size must be a positive integer, not True"),
        ({"rope_theta": -1.0}, "rope_theta must be a positive number, not -1.0"),
        ({"norm_eps": float("nan")}, "norm_eps must be a positive number"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "'yarn' is not supported"),
        ({"rope_scaling": LLAMA3 | {"factor": None}}, r"rope_scaling\['factor'\]"),
        ({"rope_scaling": LLAMA3 | {"high_freq_factor": 1.0}}, "high_freq_factor greater than"),
    ],
)
def test_impossible_llama_configs(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(LLAMA, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_dim": 3}, "rope_dim must be even"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer"),
        ({"query_latent_dim": 0}, "query_latent_dim must be a positive integer"),
        ({"latent_norm_eps": 0}, "latent_norm_eps must be a positive number"),
    ],
)
def test_impossible_mla_configs(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(MLA, **changes)


@pytest.mark.parametrize("config", [LLAMA, MLA, replace(LLAMA, rope_scaling=LLAMA3)])
def test_configs_survive_the_trip_through_a_dict(config):
    assert reference.as_config(config.to_dict()) == config


def test_rope_scaling_is_left_out_of_the_dict_when_unset():
    assert "rope_scaling" not in LLAMA.to_dict()


def test_config_dicts_with_wrong_keys():
    with pytest.raises(ValueError, match="unknown ModelConfig key 'heads'"):
        reference.as_config(LLAMA.to_dict() | {"heads": 3})
    incomplete = LLAMA.to_dict()
    del incomplete["d_ff"]
    with pytest.raises(ValueError, match=r"incomplete ModelConfig .*'d_ff'"):
        reference.as_config(incomplete)


@pytest.mark.parametrize("config", [LLAMA, MLA])
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[0, 23]], r"token id 23 is outside the vocabulary 0\.\.22"),
        ([[0, -1]], "token id -1 is outside"),
        ([[0.0, 1.0]], "token ids are integers, not float64"),
        ([0, 1], r"must have shape \(B,T\).*\(2,\)"),
        (np.zeros((2, 0), dtype=int), r"must have shape \(B,T\).*\(2, 0\)"),
    ],
)
def test_wrong_tokens(config, tokens, message):
    with pytest.raises(ValueError, match=message):
        run(config, made(config), tokens)


@pytest.mark.parametrize("config", [LLAMA, MLA])
@pytest.mark.parametrize("name", ["embedding", "layers.1.w_o", "layers.0.mlp_norm", "lm_head"])
def test_wrong_parameters_are_named(config, name):
    params = made(config)
    missing = {key: value for key, value in params.items() if key != name}
    with pytest.raises(ValueError, match=rf"parameter '{name}' of shape .* is missing"):
        run(config, missing, TOKENS)
    misshapen = params | {name: params[name][:-1]}
    with pytest.raises(ValueError, match=rf"parameter '{name}' has shape .* but the config needs"):
        run(config, misshapen, TOKENS)


@pytest.mark.parametrize("config", [LLAMA, MLA])
def test_unexpected_parameters_are_named(config):
    params = made(config)
    with pytest.raises(ValueError, match=r"'layers\.2\.w_q' is not part of this model"):
        run(config, params | {"layers.2.w_q": np.zeros((2, 2))}, TOKENS)
    with pytest.raises(ValueError, match=r"'lm_head' is not part.*tied=True"):
        run(replace(config, tied=True), params, TOKENS)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (np.arange(4), r"positions of shape \(4,\) do not fit"),
        (np.arange(3.0), "positions are integers, not float64"),
        (np.zeros((3, 3), dtype=int), r"positions of shape \(3, 3\) do not fit"),
    ],
)
def test_wrong_positions(positions, message):
    with pytest.raises(ValueError, match=message):
        reference.llama_logits(LLAMA, made(LLAMA), TOKENS, positions=positions)


def test_each_model_wants_its_own_config():
    for function, config in [
        (reference.llama_logits, MLA),
        (reference.mla_logits, LLAMA),
    ]:
        with pytest.raises(ValueError, match=f"{function.__name__} needs a"):
            function(config, {}, TOKENS)
    for function, config in [(reference.init_llama, MLA), (reference.init_mla, LLAMA)]:
        with pytest.raises(ValueError, match=f"{function.__name__} needs a"):
            function(config, 0)


def test_decode_trace_wants_equal_batches():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(1, 1\)"):
        reference.decode_trace(LLAMA, made(LLAMA), TOKENS, [[1]])


def test_attention_refuses_what_has_no_answer():
    q, k = np.zeros((2, 4)), np.zeros((3, 4))
    with pytest.raises(ValueError, match="-inf everywhere"):
        reference.attention(q, k, k, np.zeros((2, 3), dtype=bool))
    with pytest.raises(ValueError, match=r"a mask is boolean.*float64"):
        reference.attention(q, k, k, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="queries are 4 wide but keys 2"):
        reference.attention(q, k[:, :2], k)
    with pytest.raises(ValueError, match="4 queries cannot be the last of only 3"):
        reference.causal_mask(4, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reference.split_heads(np.zeros((1, 1, 7)), 2), "7 does not split into 2 heads"),
        (lambda: reference.mean_pool_kv_heads(np.zeros((3, 6)), 3, 2), "cannot pool 6 columns"),
        (lambda: reference.rope_frequencies(3), "head_dim must be even, not 3"),
        (lambda: reference.temperature([1.0], 0), "temperature must be positive, not 0"),
        (lambda: reference.top_k([1.0], 0), "at least one token, not 0"),
        (lambda: reference.top_p([1.0], 0), "above 0 and at most 1, not 0"),
        (lambda: reference.top_p([1.0], 1.5), "above 0 and at most 1, not 1.5"),
    ],
)
def test_other_nonsense(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_three_query_heads_cannot_share_two_groups():
    q, k = np.zeros((1, 3, 2, 4)), np.zeros((1, 2, 2, 4))
    with pytest.raises(ValueError, match="3 query heads cannot share 2 key and 2 value heads"):
        reference.grouped_query_attention(q, k, k)


def test_importing_the_package_needs_numpy_only():
    program = (
        "import sys, reference_model; "
        "heavy = {'torch', 'transformers', 'safetensors', 'gguf', 'tokenizers', 'pydantic'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    folder = reference.__path__[0].removesuffix("reference_model")
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def made(config) -> dict[str, np.ndarray]:
    is_mla = isinstance(config, reference.MLAConfig)
    return (reference.init_mla if is_mla else reference.init_llama)(config, seed=0)


def run(config, params, tokens) -> np.ndarray:
    is_mla = isinstance(config, reference.MLAConfig)
    return (reference.mla_logits if is_mla else reference.llama_logits)(config, params, tokens)


# --- Numbers of the course's documents -----------------------------


K = np.array([[1, 0], [0, 1], [1, 1]], dtype=float)
V = np.array([[10, 0], [0, 10], [5, 5]], dtype=float)
Q = np.array([[0, 1], [1, 1], [1, 0]], dtype=float)

SMALL = reference.ModelConfig("small", 4, 128, 8, 2, 16, 344, 512)
LLAMA2_7B = reference.ModelConfig("Llama-2-7B", 32, 4096, 32, 32, 128, 11008, 32000)
LLAMA31_8B = reference.ModelConfig("Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256)
EXERCISE_1 = reference.ModelConfig("q1", 64, 4096, 32, 32, 128, 16384, 32000)


def count(config: reference.ModelConfig, *endings: str) -> int:
    shapes = reference.param_shapes(config).items()
    return sum(int(np.prod(shape)) for name, shape in shapes if name.endswith(endings or ("",)))


def printed(values: np.ndarray, digits: int) -> list:
    return np.round(values, digits).tolist()


# D3: one head by hand


def test_third_token_by_hand():
    scores = Q[2] @ K.T / np.sqrt(2)
    assert printed(scores, 2) == [0.71, 0.0, 0.71]
    assert printed(np.exp(scores), 2) == [2.03, 1.0, 2.03]
    assert round(np.exp(scores).sum(), 2) == 5.06
    assert printed(reference.attention_weights(Q[2:], K)[0], 1) == [0.4, 0.2, 0.4]


def test_whole_attention_matrix():
    weights = reference.attention_weights(Q, K, reference.causal_mask(3, 3))
    assert printed(weights, 2) == [[1, 0, 0], [0.5, 0.5, 0], [0.4, 0.2, 0.4]]
    assert np.all(weights[np.triu_indices(3, k=1)] == 0)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-15)


def test_outputs_of_the_three_tokens():
    out = reference.attention(Q, K, V, reference.causal_mask(3, 3))
    # The document rounds the weights first and writes [6, 4]; unrounded it is (6.0167, 3.9833).
    assert printed(out, 1) == [[10.0, 0.0], [5.0, 5.0], [6.0, 4.0]]
    assert printed(out[2], 4) == [6.0167, 3.9833]


def test_first_token_outputs_its_own_value():
    out = reference.attention(Q, K, V, reference.causal_mask(3, 3))
    np.testing.assert_array_equal(out[0], V[0])


def test_exercise_7_without_scaling():
    k, v = np.array([[1, 0], [0, 1], [1, 0]]), np.array([[2, 0], [0, 2], [4, 4]])
    unscaled_query = np.array([[0, 2]]) * np.sqrt(2)
    assert printed(reference.attention_weights(unscaled_query, k)[0], 3) == [0.107, 0.787, 0.107]
    assert printed(reference.attention(unscaled_query, k, v)[0], 2) == [0.64, 2.0]


@pytest.mark.parametrize(
    ("temperature", "scaled", "probabilities"),
    [
        (1, [2, 1, 0], [0.665, 0.245, 0.090]),
        (0.5, [4, 2, 0], [0.867, 0.117, 0.016]),
        (2, [1, 0.5, 0], [0.506, 0.307, 0.186]),
    ],
)
def test_temperature_table(temperature, scaled, probabilities):
    logits = reference.temperature([2, 1, 0], temperature)
    assert logits.tolist() == scaled
    assert printed(reference.softmax(logits), 3) == probabilities


def test_sizes_of_llama_2_7b():
    shapes = reference.param_shapes(LLAMA2_7B)
    assert shapes["layers.0.w_q"] == (4096, 4096)
    one_head = reference.split_heads(np.zeros((1, 1, 4096)), 32)[0, 0, 0]
    assert one_head.shape == (128,)
    assert 4096 * one_head.size == 524_288
    attention = count(LLAMA2_7B, "layers.0.w_q", "layers.0.w_k", "layers.0.w_v", "layers.0.w_o")
    assert round(attention / 1e6, 1) == 67.1


def test_grouped_keys_and_values_of_llama_3_8b():
    shapes = reference.param_shapes(LLAMA31_8B)
    assert shapes["layers.0.w_k"] == shapes["layers.0.w_v"] == (4096, 1024)


# L2 §1.8, §4.2 and exercise 1: parameters


def test_parameters_of_the_small_model():
    params = reference.init_llama(SMALL, seed=0)
    sizes = {name: value.size for name, value in params.items()}

    def in_layer(layer: int, *names: str) -> int:
        return sum(sizes[f"layers.{layer}.{name}"] for name in names)

    for layer in range(4):
        assert in_layer(layer, "w_q", "w_k", "w_v", "w_o") == 40_960
        assert in_layer(layer, "w_gate", "w_up", "w_down") == 132_096
    assert sum(sizes.values()) == 824_448
    multiplied = [name for name, value in params.items() if value.ndim == 2 and name != "embedding"]
    assert sum(sizes[name] for name in multiplied) == 757_760


def test_shares_of_llama_31_8b():
    total = count(LLAMA31_8B)
    assert round(100 * count(LLAMA31_8B, "lm_head") / total, 1) == 6.5
    assert round(100 * count(LLAMA31_8B, "w_q", "w_k", "w_v", "w_o") / total) == 17


def test_exercise_1_parameters():
    total = count(EXERCISE_1)
    assert round(total / 1e9, 2) == 17.44
    assert round(100 * count(EXERCISE_1, "w_q", "w_k", "w_v", "w_o") / total, 1) == 24.6


# L2 §2.4: scaling


def test_unscaled_scores_saturate_the_softmax():
    """200 averages of one query and 64 keys at d = 1024: 0.96 without the scale (L2 §2.4)."""
    rng = np.random.default_rng(2)
    q, k = rng.standard_normal((200, 1, 1024)), rng.standard_normal((200, 64, 1024))
    unscaled = reference.attention_weights(q * np.sqrt(1024), k).max(axis=-1).mean()
    scaled = reference.attention_weights(q, k).max(axis=-1).mean()
    assert abs(unscaled - 0.96) < 0.02
    assert scaled < 0.2


# L2 §2.5: the causal mask


def test_a_changed_token_does_not_leak_backwards():
    """12 tokens, only the sixth changed: nothing before it moves; without the mask it does."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, 12, 32))
    w_q, w_k, w_v, w_o = rng.standard_normal((4, 32, 32)) / np.sqrt(32)
    changed = x.copy()
    changed[0, 5] = rng.standard_normal(32)

    def moved(attend) -> np.ndarray:
        return np.abs(attend(changed) - attend(x)).max(axis=(0, 2))

    causal = moved(lambda x: reference.multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads=4))
    both_ways = moved(lambda x: reference.attention(x @ w_q, x @ w_k, x @ w_v) @ w_o)
    assert np.all(causal[:5] == 0)
    assert np.all(causal[5:] > 1e-3)
    assert np.all(both_ways > 1e-3)


def test_a_changed_token_does_not_leak_backwards_through_a_model():
    params = reference.init_llama(SMALL, seed=1)
    tokens = np.arange(100, 112)[None]
    changed = tokens.copy()
    changed[0, 5] = 7
    moved = np.abs(
        reference.llama_logits(SMALL, params, changed)
        - reference.llama_logits(SMALL, params, tokens)
    ).max(axis=(0, 2))
    assert np.all(moved[:5] == 0)
    assert np.all(moved[5:] > 1e-3)


# L2 §2.7: positions


def test_attention_without_positions_only_follows_a_permutation():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((10, 64))
    w_q, w_k, w_v = rng.standard_normal((3, 64, 64)) / np.sqrt(64)
    order = rng.permutation(10)

    def attend(x: np.ndarray) -> np.ndarray:
        return reference.attention(x @ w_q, x @ w_k, x @ w_v)

    assert np.abs(attend(x[order]) - attend(x)[order]).max() <= 5e-15
    assert np.abs(attend(x[order]) - attend(x)).max() > 0.1


def test_rope_depends_on_relative_position_only():
    """The same q and k at (5, 2), (105, 102), (10005, 10002): 3.6432231984 each time.

    The document does not print its vectors. This draw was found by search: of default_rng(5)'s
    standard normals, ten are skipped, then q and k take 16 each. It matches all 11 digits.
    """
    rng = np.random.default_rng(5)
    rng.standard_normal(10)
    q, k = rng.standard_normal((1, 16)), rng.standard_normal((1, 16))
    for m, n in [(5, 2), (105, 102), (10005, 10002)]:
        score = (reference.rope(q, np.array([m])) @ reference.rope(k, np.array([n])).T).item()
        assert f"{score:.10f}" == "3.6432231984"
    elsewhere = (reference.rope(q, np.array([5])) @ reference.rope(k, np.array([3])).T).item()
    assert abs(elsewhere - 3.6432231984) > 0.1


def test_exercise_8_rotations_compose():
    rng = np.random.default_rng(6)
    q, k = rng.standard_normal((1, 2)), rng.standard_normal((1, 2))
    at_8_and_3 = reference.rope(q, np.array([8])) @ reference.rope(k, np.array([3])).T
    only_the_difference = q @ reference.rope(k, np.array([3 - 8])).T
    np.testing.assert_allclose(at_8_and_3, only_the_difference, rtol=0, atol=1e-14)


def test_previous_token_head_from_rope_alone():
    """All tokens alike, told apart by rotation only, and yet a head that looks one token back.

    q = R(-1) k makes the score k^T R(1 + n - m) k, which is largest where n = m - 1.
    """
    length, head_dim, sharpness = 12, 64, 5.0
    content = np.full((length, head_dim), sharpness)
    positions = np.arange(length)
    one_back = reference.rope(content, np.full(length, -1))
    weights = reference.attention_weights(
        reference.rope(one_back, positions),
        reference.rope(content, positions),
        reference.causal_mask(length, length),
    )
    for position in (3, 7, 11):
        assert weights[position, position - 1] > 0.98
    without_rope = reference.attention_weights(content, content)
    np.testing.assert_allclose(without_rope, 1 / length, rtol=0, atol=1e-15)


# L2 §6: attention variants


def test_gqa_is_mha_with_copied_heads():
    """The document measured 6e-15 between the two."""
    rng = np.random.default_rng(7)
    d, n_heads, n_kv_heads, head_dim = 48, 6, 2, 8
    x = rng.standard_normal((2, 9, d))
    w_q, w_o = rng.standard_normal((2, d, d)) / np.sqrt(d)
    w_k, w_v = rng.standard_normal((2, d, n_kv_heads * head_dim)) / np.sqrt(d)

    def copied(w: np.ndarray) -> np.ndarray:
        groups = np.split(w, n_kv_heads, axis=1)
        return np.concatenate([groups[0]] * 3 + [groups[1]] * 3, axis=1)

    mha = reference.multi_head_attention(x, w_q, copied(w_k), copied(w_v), w_o, n_heads)
    heads = reference.grouped_query_attention(
        reference.split_heads(x @ w_q, n_heads),
        reference.split_heads(x @ w_k, n_kv_heads),
        reference.split_heads(x @ w_v, n_kv_heads),
        reference.causal_mask(9, 9),
    )
    assert np.abs(reference.merge_heads(heads) @ w_o - mha).max() <= 1e-14


def test_pooling_identical_heads_is_exact():
    groups = np.random.default_rng(8).standard_normal((3, 20, 4))
    copied = np.concatenate([group for group in groups for _ in range(4)], axis=1)
    pooled = reference.mean_pool_kv_heads(copied, n_heads=12, n_kv_heads=3)
    np.testing.assert_array_equal(pooled, np.concatenate(list(groups), axis=1))


def test_pooling_takes_the_mean_of_neighbouring_heads():
    one_column_a_head = np.array([[1.0, 3.0, 10.0, 30.0]])
    pooled = reference.mean_pool_kv_heads(one_column_a_head, n_heads=4, n_kv_heads=2)
    assert pooled.tolist() == [[2.0, 20.0]]
