"""The gradients of the negatives are those of a mean."""

import numpy as np

from .bug import Bug, Text


def sgns_gradients(center, context, negatives):
    error_seen = 0.5 * np.tanh(0.5 * np.einsum("bd,bd->b", context, center)) - 0.5
    error_drawn = 0.5 * np.tanh(0.5 * np.einsum("bkd,bd->bk", negatives, center)) + 0.5
    error_drawn = error_drawn / negatives.shape[1]
    by_center = error_seen[:, None] * context + np.einsum("bk,bkd->bd", error_drawn, negatives)
    by_negatives = np.einsum("bk,bd->bkd", error_drawn, center)
    return by_center, error_seen[:, None] * center, by_negatives


BUG = Bug(
    name="negatives-averaged-in-the-gradients",
    part=9,
    summary=Text(
        en="gradients in which the negatives are averaged, not summed",
        zh="对负样本取平均而不是求和的梯度",
    ),
    explanation=Text(
        en=(
            "What comes from the negatives is divided by K, as if the loss held their mean. "
            "It holds their sum, so each negative pushes with its full error. For K = 1 there "
            "is no difference; with more, the negatives move too little, against a context "
            "word that moves as it should."
        ),
        zh=(
            "来自负样本的部分被除以了 K，好像损失里对它们取了平均。"
            "其实是求和，每个负样本都带着自己完整的误差去推。"
            "K = 1 时没有差别；"
            "K 大了，负样本就动得太少，而上下文词动得正常。"
        ),
    ),
    hints=(
        Text(
            en="The gradient by the context is right. By which factor is that by a negative off?",
            zh="对上下文的梯度是对的。对负样本的梯度差了几倍？",
        ),
        Text(
            en="Give the pair one negative, then the same one twice. Does the gradient by the first change?",
            zh="先给一个负样本，再把它给两次。对第一个的梯度会变吗？",
        ),
        Text(
            en="The derivative of a sum by one of its terms knows nothing of how many terms there are.",
            zh="对和式里一项求导，和一共有几项无关。",
        ),
    ),
    replaces=(sgns_gradients,),
    cites=("L2 §1.5",),
)
