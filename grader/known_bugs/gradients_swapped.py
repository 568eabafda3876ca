"""The gradients by center and by context stand in each other's place."""

import numpy as np

from .bug import Bug, Text


def sgns_gradients(center, context, negatives):
    error_seen = 0.5 * np.tanh(0.5 * np.einsum("bd,bd->b", context, center)) - 0.5
    error_drawn = 0.5 * np.tanh(0.5 * np.einsum("bkd,bd->bk", negatives, center)) + 0.5
    by_center = error_seen[:, None] * context + np.einsum("bk,bkd->bd", error_drawn, negatives)
    by_negatives = np.einsum("bk,bd->bkd", error_drawn, center)
    return error_seen[:, None] * center, by_center, by_negatives


BUG = Bug(
    name="gradients-swapped",
    part=9,
    summary=Text(
        en="gradients by center and context in each other's place",
        zh="中心词和上下文互换了位置的梯度",
    ),
    explanation=Text(
        en=(
            "Both gradients are right and come back in the wrong order: center first, then "
            "context, then negatives is what the caller unpacks. The two have the same shape, "
            "so nothing complains. The center then moves along itself, which changes its "
            "length and not its direction."
        ),
        zh=(
            "两个梯度都算对了，只是返回的次序反了："
            "调用者按中心词、上下文、负样本的次序来取。"
            "两者形状相同，所以不会报错。"
            "结果中心词沿着自己的方向移动，只变长短，不变方向。"
        ),
    ),
    hints=(
        Text(
            en="Compare each of your two gradients with the other expected one.",
            zh="把你的两个梯度分别和另一个的正确值比一比。",
        ),
        Text(
            en="The gradient by the context is a multiple of one vector. Of which?",
            zh="对上下文的梯度是某一个向量的倍数。是哪一个？",
        ),
        Text(
            en="Look at the order of the arguments: the results come in the same order.",
            zh="看参数的次序：结果按同样的次序返回。",
        ),
    ),
    replaces=(sgns_gradients,),
    cites=("L2 §1.5",),
)
