"""The tokens are added up from the least likely one."""

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    order = np.argsort(logits, axis=-1)
    probabilities = np.take_along_axis(softmax(logits), order, axis=-1)
    reached_before = np.cumsum(probabilities, axis=-1) - probabilities
    keep = np.empty(logits.shape, dtype=bool)
    np.put_along_axis(keep, order, reached_before < p, axis=-1)
    return np.where(keep, logits, -np.inf)


BUG = Bug(
    name="top-p-on-ascending-order",
    part=7,
    summary=Text(
        en="a top-p that collects tokens from the least likely one up",
        zh="从概率最小的 token 开始累计的 top-p",
    ),
    explanation=Text(
        en=(
            "argsort sorts upwards, so the sum starts with the least likely tokens and p is "
            "reached late: the long tail stays, and the most likely token goes as soon as "
            "the others alone reach p. Top-p is there to cut this tail off. For p near 1 "
            "almost everything stays and the text hardly changes, which hides it."
        ),
        zh=(
            "argsort 默认升序，累计从概率最小的 token 开始，很晚才达到 p：长尾全留下，"
            "而只要其他 token 合起来就达到 p，最可能的那个 token 反而被丢掉。top-p 的用处正是砍掉这条长尾。"
            "p 接近 1 时几乎全部保留，文字变化不大，所以不容易发现。"
        ),
    ),
    hints=(
        Text(
            en="Which token must never be removed, whatever p is? Is it among yours?",
            zh="不管 p 是多少，哪个 token 绝不能被去掉？它在你保留的里面吗？",
        ),
        Text(
            en="Print the probabilities in the order in which you add them up.",
            zh="按累计的顺序把概率打印出来。",
        ),
        Text(
            en="np.argsort sorts from small to large.",
            zh="np.argsort 是从小到大排序的。",
        ),
    ),
    replaces=(top_p,),
    cites=("L2 §3.3", "gluon-nlp#1481"),
)
