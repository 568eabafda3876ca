"""The self-test of Day 3 (自测) and its third learning goal: shapes, growth, and one by hand."""

from __future__ import annotations

import numpy as np

from reference_model import attention

from .question import Formula, Values

# --- question 3 and learning goal 3: shapes -------------------------------------------------------

Shapes = dict[str, list[int]]


def _product(left: list[int], right: list[int]) -> list[int]:
    """The shape of left @ right."""
    assert left[1] == right[0], (left, right)
    return [left[0], right[1]]


def _shapes(queries: int, keys: int, d_model: int, n_heads: int, head_dim: int) -> Shapes:
    """Of one layer's attention, by the names of the students' dict."""
    x, w_q, w_o = [queries, d_model], [d_model, n_heads * head_dim], [n_heads * head_dim, d_model]
    q, q_head, k_head = _product(x, w_q), [queries, head_dim], [keys, head_dim]
    scores = _product(q_head, k_head[::-1])
    found = {"x": x, "q": q, "q_head": q_head, "k_head": k_head, "v_head": k_head, "scores": scores}
    head_output = _product(scores, k_head)
    concatenated = [head_output[0], n_heads * head_output[1]]
    found |= {"weights": scores, "head_output": head_output, "concatenated": concatenated}
    return found | {"output": _product(concatenated, w_o)}


def _decode(seen: int, **sizes: int) -> Shapes:
    return _shapes(1, seen, **sizes)


SHAPES = {
    "d3_3_query_length": Formula(
        lambda d_model, n_heads: d_model // n_heads,
        {
            "all_heads": lambda d_model, n_heads: d_model,
            "size_of_a_matrix": lambda d_model, n_heads: (d_model // n_heads) ** 2,
            "number_of_heads": lambda d_model, n_heads: n_heads,
        },
    ),
    "d3_3_w_q_of_one_head": Formula(
        lambda d_model, head_dim: [d_model, head_dim],
        {
            "vector_for_matrix": lambda d_model, head_dim: [head_dim, head_dim],
            "output_first": lambda d_model, head_dim: [head_dim, d_model],
            "whole_layer": lambda d_model, head_dim: [d_model, d_model],
        },
    ),
    "d3_3_w_q_of_the_layer": Formula(
        lambda d_model, n_heads, head_dim: [d_model, n_heads * head_dim],
        {
            "one_head_of_the_layer": lambda d_model, n_heads, head_dim: [d_model, head_dim],
            "output_first": lambda d_model, n_heads, head_dim: [n_heads * head_dim, d_model],
            "always_square": lambda d_model, n_heads, head_dim: [d_model, d_model],
        },
    ),
    "d3_prefill_shapes": Formula(
        lambda tokens, **sizes: _shapes(tokens, tokens, **sizes),
        {
            "transposed": lambda tokens, **sizes: {
                name: shape[::-1] for name, shape in _shapes(tokens, tokens, **sizes).items()
            },
            "one_token": lambda tokens, **sizes: _decode(tokens, **sizes),
        },
    ),
    "d3_decode_shapes": Formula(
        lambda past, **sizes: _decode(past + 1, **sizes),
        {
            "does_not_see_itself": lambda past, **sizes: _decode(past, **sizes),
            "prefill_again": lambda past, **sizes: _shapes(past + 1, past + 1, **sizes),
        },
    ),
}

# --- question 4: growth ---------------------------------------------------------------------------

GROWTH = {
    "d3_4_growth": Formula(
        lambda before, after: after * after / (before * before),
        {
            "growth_of_the_length": lambda before, after: after / before,
            "growth_upside_down": lambda before, after: (before / after) ** 2,
        },
    ),
}

FORMULAS = SHAPES | GROWTH

# --- question 7: by hand --------------------------------------------------------------------------

K = np.array([[1.0, 0], [0, 1], [1, 0]])
V = np.array([[2.0, 0], [0, 2], [4, 4]])
Q3 = np.array([[0.0, 2]])
# The reference divides by the root of d_h, which the question leaves out.
OUTPUT = attention(Q3 * np.sqrt(2), K, V)[0]
WRONG_OUTPUTS = {
    "scaled": attention(Q3, K, V)[0],
    "without_itself": attention(Q3 * np.sqrt(2), K[:2], V[:2])[0],
    "equal_weights": V.mean(axis=0),
    "rounded_weights": np.array([0.107, 0.787, 0.107]) @ V,
}


def _output(entry: int) -> Values:
    """One entry of the output, and the mistakes that change it."""
    true = float(OUTPUT[entry])
    wrong = [(name, float(output[entry])) for name, output in WRONG_OUTPUTS.items()]
    return Values(true, [(name, value) for name, value in wrong if abs(value - true) > 2e-3 * true])


VALUES = {"d3_7_first_of_the_output": _output(0), "d3_7_second_of_the_output": _output(1)}
