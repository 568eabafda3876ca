"""The scores are not divided by sqrt(d_h)."""

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


BUG = Bug(
    name="scale-missing",
    part=1,
    summary=Text(
        en="attention whose scores are not divided by sqrt(d_h)",
        zh="分数没有除以 sqrt(d_h) 的 attention",
    ),
    explanation=Text(
        en=(
            "The dot products go into the softmax as they are. Their variance grows with d_h, so the "
            "differences between scores are sqrt(d_h) times too large and softmax comes close to one- "
            "hot: each output is nearly one value instead of a mixture. Nothing raises an error. The "
            "division is part of the model and not only a matter of stability, so leaving it out "
            "changes every output that averages more than one key."
        ),
        zh=(
            "点积原样送进了 softmax。点积的方差随 d_h 增大，"
            "分数之间的差距因此放大了 sqrt(d_h) 倍，softmax 接近 one-hot，"
            "输出几乎等于某一个 value，而不是加权平均。这不会报错。"
            "除以 sqrt(d_h) 是模型定义的一部分，不只是为了数值稳定：漏掉它，"
            "凡是要看多个 key 的输出都会变。"
        ),
    ),
    hints=(
        Text(
            en="A query that sees only one key is right and all others are wrong. What can change the weights without changing which keys are visible?",
            zh="只看得到一个 key 的 query 是对的，其余都错。有什么会改变权重，却不改变能看到哪些 key？",
        ),
        Text(
            en="Work the third token of D3 by hand: its scores before the softmax should be 0.71, 0, 0.71. Print yours.",
            zh="手算 D3 的第三个 token：softmax 之前的分数应为 0.71、0、0.71。把你的分数打印出来比一比。",
        ),
        Text(
            en="Scaled dot-product attention has a number under the fraction bar: the square root of the width of a query.",
            zh="缩放点积 attention 的公式里有一个分母：query 宽度的平方根。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.4", "L2 §9.3", "mlc-llm#3426", "cntkx#10"),
)
