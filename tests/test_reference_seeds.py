"""Every figure of the course documents that the oracle can reproduce.

L2 is "Lecture 2 · Transformer", D3 is "Day 3 · Self-attention". Figures are compared as printed:
rounded to the digits the document gives.
"""

from __future__ import annotations

import numpy as np
import pytest

import reference_model as reference

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
