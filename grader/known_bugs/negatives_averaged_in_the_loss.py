"""The terms of the negatives are averaged."""

import numpy as np

from .bug import Bug, Text


def sgns_loss(center, context, negatives):
    seen = np.einsum("bd,bd->b", context, center)
    drawn = np.einsum("bkd,bd->bk", negatives, center)
    return np.logaddexp(0, -seen) + np.logaddexp(0, drawn).mean(axis=-1)


BUG = Bug(
    name="negatives-averaged-in-the-loss",
    part=9,
    summary=Text(
        en="a loss with the mean over the negatives in place of the sum",
        zh="对负样本取平均而不是求和的损失",
    ),
    explanation=Text(
        en=(
            "The K terms of the negatives are averaged. In the formula they are summed: each "
            "is a question of its own, answered as well as that of the word really seen. With "
            "the mean, more negatives do not weigh more, and K no longer does what it says. "
            "For K = 1 there is no difference."
        ),
        zh=(
            "这里对 K 个负样本的项取了平均，而公式里是求和："
            "每个负样本都是一道单独的判断题，和真实的那一对一样算数。"
            "取平均之后，负样本再多也不更重，K 就失去了作用。"
            "K = 1 时看不出差别。"
        ),
    ),
    hints=(
        Text(
            en="With one negative your loss is right. What changes with two that are equal?",
            zh="只有一个负样本时你的损失是对的。换成两个相同的负样本，应该怎样变？",
        ),
        Text(
            en="Copy each negative: should the part of the negatives stay or double?",
            zh="把每个负样本复制一份：负样本那部分应该不变，还是翻倍？",
        ),
        Text(
            en="Look at the sign in front of the negatives' terms in the formula.",
            zh="看公式里负样本那一项前面是什么符号。",
        ),
    ),
    replaces=(sgns_loss,),
    cites=(
        "L2 §1.5",
        "Mikolov et al. 2013b §2.2",
    ),
)
