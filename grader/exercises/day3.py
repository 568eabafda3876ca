"""The self-test of Day 3 (自测), its questions with numbers for answers."""

from __future__ import annotations

import numpy as np

from assignment.harness.quantity import SHAPE
from reference_model import attention
from reference_model.accounting import LLAMA2_7B

from .question import Mistake, NumericQuestion, Text

# --- question 3: shapes ---------------------------------------------------------------------------

D, D_H = LLAMA2_7B.d_model, LLAMA2_7B.head_dim

ONE_VECTOR = Text(
    en="That is all heads side by side; one head has its share of it.",
    zh="这是所有头并排的长度；一个头只占其中一份。",
)
VECTOR_FOR_MATRIX = Text(
    en="The matrix takes x, which is as long as the model is wide, and gives one head's q.",
    zh="这个矩阵吃的是和模型一样宽的 x，吐出一个头的 q。",
)
OUTPUT_FIRST = Text(
    en="Rows are the input's length and columns the output's, as in x @ w.",
    zh="行数是输入长度，列数是输出长度，即 x @ w。",
)
ONE_HEAD = Text(
    en="That is one head; the layer has all of them side by side.",
    zh="这只是一个头；整层是所有头并排。",
)
WHOLE_LAYER = Text(
    en="That is the whole layer; one head has its share of the columns.",
    zh="这是整层的；一个头只占其中一部分列。",
)

SHAPES = (
    NumericQuestion(
        "d3_3_query_length",
        "count",
        D_H,
        "128",
        exact=True,
        mistakes=(
            Mistake(D, ONE_VECTOR),
            Mistake(
                D_H * D_H,
                Text(
                    en="That is the size of a matrix; q is a vector.",
                    zh="这是一个矩阵的格子数；q 是向量。",
                ),
            ),
            Mistake(
                LLAMA2_7B.n_heads,
                Text(en="That is how many heads there are.", zh="这是头的个数。"),
            ),
        ),
    ),
    NumericQuestion(
        "d3_3_w_q_of_one_head",
        SHAPE,
        (D, D_H),
        "4096 × 128",
        mistakes=(
            Mistake((D_H, D_H), VECTOR_FOR_MATRIX),
            Mistake((D_H, D), OUTPUT_FIRST),
            Mistake((D, D), WHOLE_LAYER),
        ),
    ),
    NumericQuestion(
        "d3_3_w_q_of_the_layer",
        SHAPE,
        (D, D),
        "4096 × 4096",
        mistakes=(Mistake((D, D_H), ONE_HEAD), Mistake((D_H, D_H), VECTOR_FOR_MATRIX)),
    ),
)

# --- question 4: growth ---------------------------------------------------------------------------

GROWTH = (
    NumericQuestion(
        "d3_4_growth",
        "times",
        (4000 / 1000) ** 2,
        "16 倍",
        digits=2,
        exact=True,
        mistakes=(
            Mistake(
                4000 / 1000,
                Text(
                    en="That is how much longer the sequence is; the matrix has a row and a column "
                    "for each token.",
                    zh="这是序列变长的倍数；注意力矩阵每个 token 占一行、一列。",
                ),
            ),
            Mistake(
                (1000 / 4000) ** 2,
                Text(en="It grows; this is the other way round.", zh="它是变大的；这里反过来了。"),
            ),
        ),
    ),
)

# --- question 7: by hand --------------------------------------------------------------------------

K = np.array([[1.0, 0], [0, 1], [1, 0]])
V = np.array([[2.0, 0], [0, 2], [4, 4]])
Q3 = np.array([[0.0, 2]])
# The reference divides by the root of d_h, which the question leaves out.
OUTPUT = attention(Q3 * np.sqrt(2), K, V)[0]
SCALED = attention(Q3, K, V)[0]
WITHOUT_ITSELF = attention(Q3 * np.sqrt(2), K[:2], V[:2])[0]
ROUNDED_WEIGHTS = np.array([0.107, 0.787, 0.107]) @ V
EQUAL_WEIGHTS = V.mean(axis=0)

_WRONG_OUTPUTS = (
    (
        SCALED,
        Text(
            en="That is with the division by the root of d_h, which the question leaves out.",
            zh="这里除了 √d_h；题目说不缩放。",
        ),
    ),
    (
        WITHOUT_ITSELF,
        Text(
            en="The causal mask lets token 3 see itself: there are three weights.",
            zh="因果掩码下 token 3 能看到自己：一共有三个权重。",
        ),
    ),
    (
        EQUAL_WEIGHTS,
        Text(
            en="That is with equal weights; they come from the softmax of the scores.",
            zh="这是权重都相等的结果；权重应由分数过 softmax 得到。",
        ),
    ),
    (
        ROUNDED_WEIGHTS,
        Text(
            en="The weights were rounded before they were used; carry more digits, or give two.",
            zh="权重先四舍五入了再用；请多留几位，或只给两位。",
        ),
    ),
)


def _output(name: str, entry: int, printed: str) -> NumericQuestion:
    found = tuple(
        Mistake(float(wrong[entry]), why)
        for wrong, why in _WRONG_OUTPUTS
        if abs(wrong[entry] - OUTPUT[entry]) > 2e-3 * OUTPUT[entry]
    )
    return NumericQuestion(name, "count", float(OUTPUT[entry]), printed, digits=2, mistakes=found)


BY_HAND = (
    _output("d3_7_first_of_the_output", 0, "0.64"),
    _output("d3_7_second_of_the_output", 1, "2.00"),
)

QUESTIONS = (*SHAPES, *GROWTH, *BY_HAND)
