"""The self-test of Day 3 (自测): the values of its questions with numbers for answers."""

from __future__ import annotations

import numpy as np

from reference_model import attention
from reference_model.accounting import LLAMA2_7B

from .question import Values

# --- question 3: shapes ---------------------------------------------------------------------------

D, D_H = LLAMA2_7B.d_model, LLAMA2_7B.head_dim

SHAPES = {
    "d3_3_query_length": Values(
        D_H,
        [
            ("all_heads", D),
            ("size_of_a_matrix", D_H * D_H),
            ("number_of_heads", LLAMA2_7B.n_heads),
        ],
    ),
    "d3_3_w_q_of_one_head": Values(
        (D, D_H),
        [("vector_for_matrix", (D_H, D_H)), ("output_first", (D_H, D)), ("whole_layer", (D, D))],
    ),
    "d3_3_w_q_of_the_layer": Values(
        (D, D), [("one_head_of_the_layer", (D, D_H)), ("vector_for_matrix", (D_H, D_H))]
    ),
}

# --- question 4: growth ---------------------------------------------------------------------------

GROWTH = {
    "d3_4_growth": Values(
        (4000 / 1000) ** 2,
        [
            ("growth_of_the_length", 4000 / 1000),
            ("growth_upside_down", (1000 / 4000) ** 2),
        ],
    ),
}

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


BY_HAND = {"d3_7_first_of_the_output": _output(0), "d3_7_second_of_the_output": _output(1)}

VALUES = SHAPES | GROWTH | BY_HAND
