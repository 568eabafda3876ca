"""The loss is the logarithm of a logistic function that rounds to 0."""

import numpy as np

from .bug import Bug, Text


def sgns_loss(center, context, negatives):
    seen = np.einsum("bd,bd->b", context, center)
    drawn = np.einsum("bkd,bd->bk", negatives, center)
    by_seen = -np.log(1 / (1 + np.exp(-seen)))
    return by_seen - np.log(1 / (1 + np.exp(drawn))).sum(axis=-1)


BUG = Bug(
    name="loss-overflows",
    part=9,
    summary=Text(
        en="a loss that takes the log of a logistic function which has become 0",
        zh="对已经变成 0 的 logistic 函数取对数的损失",
    ),
    explanation=Text(
        en=(
            "The formula is right and is computed as it stands. For a dot product of -800, "
            "exp(800) overflows, s becomes exactly 0 and its logarithm is minus infinity, "
            "while the true loss is simply 800. Small vectors show nothing; a learning rate "
            "that is too large leads here, and the report of the loss says inf or nan."
        ),
        zh=(
            "公式是对的，只是照字面去算。"
            "点积为 -800 时，exp(800) 溢出，s 变成正好 0，取对数得负无穷，而真正的损失不过是 800。"
            "向量小的时候看不出来；"
            "学习率太大时就会走到这里，打印出来的损失是 inf 或 nan。"
        ),
    ),
    hints=(
        Text(
            en="What is your loss for a dot product of -800 with the word really seen? By hand it is 800.",
            zh="和真实上下文的点积为 -800 时，你的损失是多少？手算是 800。",
        ),
        Text(
            en="Write -log s(x) without a fraction: it is the logarithm of a sum of two exponentials.",
            zh="把 -log s(x) 写成没有分数的样子：它是两个指数之和的对数。",
        ),
        Text(
            en="numpy has a function that adds two numbers given by their logarithms and cannot overflow.",
            zh="numpy 有一个函数，把两个以对数形式给出的数相加，不会溢出。",
        ),
    ),
    replaces=(sgns_loss,),
    cites=(
        "L2 §1.5",
        "gensim#990",
        "deep-learning-v2-pytorch#199",
    ),
)
