"""The scores are divided by the square root of the value's width."""

import math

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(v.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


BUG = Bug(
    name="scale-by-value-width",
    part=1,
    summary=Text(
        en="attention whose scores are divided by sqrt(d_v), the width of the values",
        zh="分数除以 sqrt(d_v)（value 的宽度）的 attention",
    ),
    explanation=Text(
        en=(
            "The width under the root is taken from v. In most models values are as wide as queries and "
            "the mistake is invisible; it shows as soon as d_v differs from d_h. The values have no "
            "part in the scores: what has to be compensated is the sum of d_h products in q times k."
        ),
        zh=(
            "根号里的宽度取自 v。多数模型里 value 和 query 一样宽，这个错误看不出来；"
            "一旦 d_v 不等于 d_h 就会暴露。value 并不参与打分："
            "需要补偿的是 q 和 k 点积里那 d_h 项的求和。"
        ),
    ),
    hints=(
        Text(
            en="The example of D3 is right, the test with values of another width is not. What do the two differ in?",
            zh="D3 的例子是对的，value 宽度不同的测试却错了。两者有什么区别？",
        ),
        Text(
            en="Print the shapes of q, k and v in the failing test. Which of them takes part in the scores?",
            zh="打印失败测试里 q、k、v 的形状。哪几个参与计算分数？",
        ),
        Text(
            en="The scale belongs to the dot product of query and key. Take the width from one of these two.",
            zh="缩放针对的是 query 和 key 的点积。宽度要从这两者之一取。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.4",),
)
