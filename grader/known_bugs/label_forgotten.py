"""The error of the word really seen is s(x), not s(x) - 1."""

import numpy as np

from .bug import Bug, Text


def sgns_gradients(center, context, negatives):
    error_seen = 0.5 * np.tanh(0.5 * np.einsum("bd,bd->b", context, center)) + 0.5
    error_drawn = 0.5 * np.tanh(0.5 * np.einsum("bkd,bd->bk", negatives, center)) + 0.5
    by_center = error_seen[:, None] * context + np.einsum("bk,bkd->bd", error_drawn, negatives)
    by_negatives = np.einsum("bk,bd->bkd", error_drawn, center)
    return by_center, error_seen[:, None] * center, by_negatives


BUG = Bug(
    name="label-forgotten",
    part=9,
    summary=Text(
        en="gradients with the error s(x) for the word really seen, where the label 1 is not subtracted",
        zh="真实上下文的误差用了 s(x)、没有减去标签 1 的梯度",
    ),
    explanation=Text(
        en=(
            "The error is the prediction minus the label. A negative has the label 0, so its "
            "error is s(x); the word that was really seen has the label 1, so its error is "
            "s(x) - 1. Without the 1 the pair that belongs together is pushed apart like a "
            "negative, and all dot products sink."
        ),
        zh=(
            "误差等于预测减去标签。"
            "负样本的标签是 0，所以误差是 s(x)；"
            "真实出现的词标签是 1，误差是 s(x) - 1。"
            "不减这个 1，本该靠近的一对就像负样本一样被推开，所有点积越来越小。"
        ),
    ),
    hints=(
        Text(
            en="Take a dot product of 0, where s is 0.5. Which sign has your gradient by the context, and which should it have?",
            zh="取点积为 0，这时 s 是 0.5。你对上下文的梯度是什么符号？应该是什么符号？",
        ),
        Text(
            en="A step against the gradient must make the dot product with the context larger. Does yours?",
            zh="沿梯度的反方向走一步，和上下文的点积应该变大。你的呢？",
        ),
        Text(
            en="Derive -log s(x) once more: the result is between -1 and 0.",
            zh="再对 -log s(x) 求一次导：结果在 -1 和 0 之间。",
        ),
    ),
    replaces=(sgns_gradients,),
    cites=("L2 §1.5",),
)
