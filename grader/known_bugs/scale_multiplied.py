"""The scores are multiplied by sqrt(d_h)."""

import math

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) * math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


BUG = Bug(
    name="scale-multiplied",
    part=1,
    summary=Text(
        en="attention whose scores are multiplied by sqrt(d_h) instead of divided",
        zh="分数乘以 sqrt(d_h) 而不是除以它的 attention",
    ),
    explanation=Text(
        en=(
            "The scale is applied the wrong way round, often because a name such as `scale` is 1 / "
            "sqrt(d_h) in one place and sqrt(d_h) in another. The scores come out d_h times too large, "
            "softmax picks one key and ignores the others, and every output is nearly a copy of one "
            "value."
        ),
        zh=(
            "缩放的方向反了，常见原因是 `scale` 这个名字在一处表示 1 / sqrt(d_h)，"
            "在另一处表示 sqrt(d_h)。分数比应有的大 d_h 倍，softmax 只选中一个 key，"
            "忽略其余，输出几乎就是某一个 value 的拷贝。"
        ),
    ),
    hints=(
        Text(
            en="Print the weights of one row. Are they closer to one-hot than those of D3?",
            zh="打印一行权重。它们是不是比 D3 的结果更接近 one-hot？",
        ),
        Text(
            en="For d_h = 2 a dot product of 1 should become 0.71 before the softmax. Is yours larger than 1?",
            zh="d_h = 2 时，点积 1 在 softmax 之前应变成 0.71。你的是不是比 1 还大？",
        ),
        Text(
            en="The scale is there to make scores smaller. Check whether your factor is the root or its reciprocal.",
            zh="缩放是为了让分数变小。检查你用的因子是平方根，还是它的倒数。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.4", "perceiver-io#9"),
)
