"""softmax takes exponentials without subtracting the maximum."""

import numpy as np

from .bug import Bug, Text


def softmax(x, axis=-1):
    powers = np.exp(x)
    return powers / powers.sum(axis=axis, keepdims=True)


BUG = Bug(
    name="softmax-without-max",
    part=1,
    summary=Text(
        en="a softmax that overflows because it does not subtract the row's maximum first",
        zh="没有先减去每行最大值、因而会溢出的 softmax",
    ),
    explanation=Text(
        en=(
            "The definition is taken literally. For moderate scores it is right, but exp of 1000 is "
            "infinite and infinity divided by infinity is NaN; when all scores are near -1000 every "
            "exponential is 0 and 0 / 0 is NaN as well. In float32 the overflow begins near 89. "
            "Shifting all scores of a row by the same number changes no weight, so the largest can be "
            "brought to 0."
        ),
        zh=(
            "直接照抄了定义。分数不大时结果是对的，但 1000 的指数是无穷大，无穷大除以无穷大得 NaN；"
            "分数都在 -1000 附近时，所有指数都是 0，0 / 0 也是 NaN。"
            "float32 在 89 附近就开始溢出。一行分数同时加减同一个数，权重不变，"
            "所以可以先把最大的分数移到 0。"
        ),
    ),
    hints=(
        Text(
            en="Which values do your exponentials take when a score is 1000, and when all are -1000?",
            zh="分数是 1000 时，你的指数等于多少？全是 -1000 时呢？",
        ),
        Text(
            en="What happens to the weights when you add the same number to every score of a row? Work it out on paper.",
            zh="给一行的每个分数加上同一个数，权重会怎样变？在纸上推一下。",
        ),
        Text(
            en="Choose the shift so that the largest exponent of each row is 0. Then nothing overflows and the sum is at least 1.",
            zh="选一个平移量，使每行最大的指数为 0。这样不会溢出，而且和至少是 1。",
        ),
    ),
    replaces=(softmax,),
    cites=("D3 语言模型只做一件事", "uTensor#175", "tt-metal#10001"),
)
