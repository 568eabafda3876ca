"""The dot products of the negatives enter the loss with the wrong sign."""

import numpy as np

from .bug import Bug, Text


def sgns_loss(center, context, negatives):
    seen = np.einsum("bd,bd->b", context, center)
    drawn = np.einsum("bkd,bd->bk", negatives, center)
    return np.logaddexp(0, -seen) + np.logaddexp(0, -drawn).sum(axis=-1)


BUG = Bug(
    name="negatives-pulled-closer",
    part=9,
    summary=Text(
        en="a loss with log s(+u_n · v) for the negatives, without the minus sign",
        zh="负样本用了 log s(+u_n · v)、漏了负号的损失",
    ),
    explanation=Text(
        en=(
            "The negatives are treated like the word that was really seen: their dot "
            "products, too, are to become large. The smallest loss is then reached by vectors "
            "that all point the same way, and the model learns nothing of the words. The "
            "minus sign inside the logistic function is what makes a negative a negative."
        ),
        zh=(
            "负样本被当成了真的出现过的词："
            "它们的点积也要变大。"
            "这样一来，所有向量都指向同一个方向时损失最小，模型什么也学不到。"
            "logistic 函数里的那个负号，正是“负”样本之所以为负的地方。"
        ),
    ),
    hints=(
        Text(
            en="Make one negative point the same way as the center, only longer. Should the loss rise or fall?",
            zh="让一个负样本和中心词同方向，再把它拉长。损失应该变大还是变小？",
        ),
        Text(
            en="Which label has a negative, and what is the probability of that label if the other one has s(x)?",
            zh="负样本的标签是什么？标签为 1 的概率是 s(x)，那么标签为 0 的概率是多少？",
        ),
        Text(
            en="1 - s(x) = s(-x): the probability of the other label.",
            zh="1 - s(x) = s(-x)：这就是另一个标签的概率。",
        ),
    ),
    replaces=(sgns_loss,),
    cites=(
        "L2 §1.5",
        "pytorch_NEG_loss#5",
    ),
)
