"""Negatives are drawn as often as words occur."""

import numpy as np

from .bug import Bug, Text


def noise_distribution(counts):
    weights = counts.astype(np.float64)
    return weights / weights.sum()


BUG = Bug(
    name="noise-by-count",
    part=9,
    summary=Text(
        en="a noise distribution proportional to the counts, without the power 0.75",
        zh="与词频成正比、没有取 0.75 次方的噪声分布",
    ),
    explanation=Text(
        en=(
            "The counts are only divided by their sum, so a negative is drawn as often as its "
            "word occurs in the text. The paper raises the counts to the power 0.75 first: "
            'frequent words like "the" then come up less often and rare ones more often, '
            "which it found to work best. Training runs either way, and nothing looks wrong."
        ),
        zh=(
            "这里只是把词频除以总和，所以词在文本里出现多少次，就按多大的机会被抽作负样本。"
            "论文先对词频取 0.75 次方："
            "the 这样的高频词被抽得少一些，少见词多一些，实验中这样效果最好。"
            "两种写法训练都能跑，看不出哪里不对。"
        ),
    ),
    hints=(
        Text(
            en="Compare the ratio of two of your probabilities with the ratio of their counts.",
            zh="取两个词，比一比它们的概率之比和词频之比。",
        ),
        Text(
            en="Words seen 1 and 16 times: the second should be drawn 8 times as often, not 16 times.",
            zh="一个词出现 1 次，一个出现 16 次：后者被抽到的机会应该是前者的 8 倍，不是 16 倍。",
        ),
        Text(
            en="A power is taken of the counts before they are made to sum to 1.",
            zh="在归一化之前，要先对词频取一个次方。",
        ),
    ),
    replaces=(noise_distribution,),
    cites=(
        "L2 §1.5",
        "Mikolov et al. 2013b §2.2",
    ),
)
