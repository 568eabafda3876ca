"""The power of the counts is 0.5."""

import numpy as np

from .bug import Bug, Text


def noise_distribution(counts):
    weights = np.sqrt(counts.astype(np.float64))
    return weights / weights.sum()


BUG = Bug(
    name="noise-square-root",
    part=9,
    summary=Text(
        en="a noise distribution by the square root of the counts, not the power 0.75",
        zh="按词频的平方根而不是 0.75 次方的噪声分布",
    ),
    explanation=Text(
        en=(
            "The counts are raised to the power 0.5. That, too, favours rare words, only more "
            "than the paper does; fastText uses it, and code taken from there brings it "
            "along. The vectors are hardly worse, so only the numbers tell: 0.75 is the power "
            "of word2vec."
        ),
        zh=(
            "这里对词频取的是 0.5 次方。"
            "它同样偏向少见词，只是比论文更偏；"
            "fastText 用的就是它，从那里抄来的代码也就带着它。"
            "训练出的向量差别不大，只有看数字才分得出："
            "word2vec 用的是 0.75 次方。"
        ),
    ),
    hints=(
        Text(
            en="Words seen 1 and 16 times: how many times as often do you draw the second?",
            zh="一个词出现 1 次，一个出现 16 次：你抽到后者的机会是前者的几倍？",
        ),
        Text(
            en="It should be 8 times. With 4 times, which power was taken?",
            zh="应该是 8 倍。如果是 4 倍，取的是几次方？",
        ),
        Text(
            en="16 to the power 0.75 is 8.",
            zh="16 的 0.75 次方是 8。",
        ),
    ),
    replaces=(noise_distribution,),
    cites=(
        "L2 §1.5",
        "word2vec-pytorch#7",
    ),
)
