"""The weights do not sum to 1."""

import numpy as np

from .bug import Bug, Text


def noise_distribution(counts):
    return counts.astype(np.float64) ** 0.75


BUG = Bug(
    name="noise-not-normalised",
    part=9,
    summary=Text(
        en="the counts to the power 0.75, not divided by their sum",
        zh="词频的 0.75 次方，没有除以总和",
    ),
    explanation=Text(
        en=(
            "The power is right, but these are weights and no probabilities yet: their sum is "
            "not 1. Whoever draws with them either gets an error (numpy's choice) or, by the "
            "cumulative sum, nothing but the first few words."
        ),
        zh=(
            "次方取对了，但这还只是权重，不是概率："
            "加起来不等于 1。"
            "拿它去抽样，要么报错（numpy 的 choice），要么在用累积和的写法里只抽得到最前面的几个词。"
        ),
    ),
    hints=(
        Text(
            en="What is the sum of your result? What must it be?",
            zh="你的结果加起来是多少？应该是多少？",
        ),
        Text(
            en="The counts of a text ten times as long should give the same result. Do they?",
            zh="文本长十倍、词频都乘以 10，结果应该不变。你的变了吗？",
        ),
        Text(
            en="Divide the weights by their sum.",
            zh="把权重除以它们的总和。",
        ),
    ),
    replaces=(noise_distribution,),
    cites=("L2 §1.5",),
)
