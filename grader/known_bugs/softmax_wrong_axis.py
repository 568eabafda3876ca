"""The softmax of the scores runs over the queries."""

import math

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores, axis=-2) @ v


BUG = Bug(
    name="softmax-wrong-axis",
    part=1,
    summary=Text(
        en="attention whose softmax runs over the queries instead of the keys",
        zh="softmax 沿 query 而不是沿 key 计算的 attention",
    ),
    explanation=Text(
        en=(
            "The score matrix is (T, S): a row for each query, a column for each key. Here each column "
            "is normalised, so the weights that one key gets from all queries sum to 1, while the "
            "weights of one query do not. With a single query, as in a decode step, every weight is "
            "exactly 1 and the output is the plain sum of the values."
        ),
        zh=(
            "分数矩阵是 (T, S)：每个 query 一行，每个 key 一列。这里按列归一化了，"
            "于是同一个 key 从所有 query 得到的权重之和为 1，"
            "而同一个 query 的各个权重之和却不是 1。"
            "只有一个 query 时（例如 decode 的一步），每个权重都正好是 1，"
            "输出就成了所有 value 之和。"
        ),
    ),
    hints=(
        Text(
            en="Each output should be an average of the values. Is it, or can it lie outside their range?",
            zh="每个输出都应该是 value 的加权平均。你的输出会不会落到 value 的取值范围之外？",
        ),
        Text(
            en="Sum your weight matrix along its rows and along its columns. Which of the two sums is 1?",
            zh="把权重矩阵分别按行、按列求和。哪个方向的和是 1？",
        ),
        Text(
            en="One query distributes its attention over the keys, and keys are the last axis of the scores.",
            zh="一个 query 把注意力分配给各个 key，而 key 在分数矩阵的最后一个轴上。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("D3 把整张注意力矩阵算完", "annotated_deep_learning_paper_implementations#146"),
)
