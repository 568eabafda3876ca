"""softmax forgets to divide by the sum."""

import numpy as np

from .bug import Bug, Text


def softmax(x, axis=-1):
    return np.exp(x - x.max(axis=axis, keepdims=True))


BUG = Bug(
    name="softmax-not-normalised",
    part=1,
    summary=Text(
        en="a softmax that never divides by the sum, so that the largest weight is 1",
        zh="没有除以总和、最大权重等于 1 的 softmax",
    ),
    explanation=Text(
        en=(
            "The exponentials of the shifted scores are returned as they are (or, which is the same, "
            "divided by the largest of them). The order of the weights is right, but they do not sum to "
            "1: the largest is always 1 and the others come on top, so attention returns a sum of "
            "values that grows with the number of keys instead of their average."
        ),
        zh=(
            "平移后的分数取了指数就直接返回（等价于除以其中最大的一个）。权重的大小顺序是对的，"
            "但加起来不等于 1：最大的总是 1，其余的再加上去，"
            "于是 attention 得到的是随 key 个数变大的求和，而不是 value 的平均。"
        ),
    ),
    hints=(
        Text(
            en="The order of your weights is right. What else must hold for a probability distribution?",
            zh="权重的大小顺序是对的。概率分布还必须满足什么？",
        ),
        Text(
            en="Call softmax on [2, 1, 0]. D3 gives 0.665, 0.245, 0.090; compare the first number.",
            zh="对 [2, 1, 0] 调用 softmax。D3 的结果是 0.665、0.245、0.090；比一比第一个数。",
        ),
        Text(
            en="Subtracting the maximum only prevents overflow. The formula still has a denominator.",
            zh="减最大值只是为了防止溢出。公式里还有一个分母。",
        ),
    ),
    replaces=(softmax,),
    cites=("D3 语言模型只做一件事",),
)
