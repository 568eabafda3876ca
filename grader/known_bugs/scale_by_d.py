"""The scores are divided by d_h, not by its square root."""

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1]
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


BUG = Bug(
    name="scale-by-d",
    part=1,
    summary=Text(
        en="attention whose scores are divided by d_h instead of sqrt(d_h)",
        zh="分数除以 d_h 而不是 sqrt(d_h) 的 attention",
    ),
    explanation=Text(
        en=(
            "The square root is missing: the scores are divided by the width of the query itself. The "
            "variance of a dot product is d_h, so its standard deviation is sqrt(d_h), and only that "
            "brings the scores back to unit size. Divided by d_h they are too small, all weights come "
            "close to 1/S, and the output is nearly the plain mean of the values."
        ),
        zh=(
            "漏了开平方：分数直接除以了 query 的宽度。点积的方差是 d_h，标准差是 sqrt(d_h)，"
            "除以标准差才能让分数的大小回到 1 左右。除以 d_h 之后分数太小，各个权重都接近 1/S，"
            "输出几乎就是所有 value 的简单平均。"
        ),
    ),
    hints=(
        Text(
            en="Your weights are flatter than they should be. Which number makes them flat?",
            zh="你的权重比应有的更平均。是哪个数把它们压平的？",
        ),
        Text(
            en="For d_h = 2 a dot product of 1 should become 0.71 before the softmax. What does yours become?",
            zh="d_h = 2 时，点积 1 在 softmax 之前应变成 0.71。你的变成了多少？",
        ),
        Text(
            en="The variance of a dot product is d_h. One divides by the standard deviation, not by the variance.",
            zh="点积的方差是 d_h。应该除以标准差，而不是方差。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.4", "L2 §9.3"),
)
