"""One token more than needed stays."""

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    descending = np.argsort(-logits, axis=-1)
    probabilities = np.take_along_axis(softmax(logits), descending, axis=-1)
    n_needed = (np.cumsum(probabilities, axis=-1) < p).sum(axis=-1, keepdims=True) + 1
    keep = np.empty(logits.shape, dtype=bool)
    np.put_along_axis(keep, descending, np.arange(logits.shape[-1]) <= n_needed, axis=-1)
    return np.where(keep, logits, -np.inf)


BUG = Bug(
    name="top-p-keeps-one-more",
    part=7,
    summary=Text(
        en="a top-p that keeps one token more than it needs",
        zh="比需要的多保留一个 token 的 top-p",
    ),
    explanation=Text(
        en=(
            "The set already reaches p, and the next token is kept as well: an off-by-one "
            "between a rank, which starts at 0, and a number of tokens, which starts at 1. "
            "The set is no longer the smallest. With a small p, where one token should be "
            "left, two stay, so a setting meant to be greedy is not."
        ),
        zh=(
            "集合已经达到 p，却又多留了一个 token：排名从 0 数起，个数从 1 数起，两者差了一。这样的集合不再是最小的。"
            "p 很小时本该只剩一个 token，现在剩两个，本想接近贪心的设置就不是贪心了。"
        ),
    ),
    hints=(
        Text(
            en="Remove the least likely token you kept. Does the rest still reach p?",
            zh="把保留下来的 token 里概率最小的一个去掉，剩下的还达到 p 吗？",
        ),
        Text(
            en="Take p = 0.01. Exactly one token should stay; how many do you keep?",
            zh="取 p = 0.01，应该正好留一个 token，你留了几个？",
        ),
        Text(
            en="Compare the rank of the last kept token, counted from 0, with the number of tokens you need.",
            zh="最后一个保留的 token 排名第几（从 0 数起）？和需要的 token 个数比一比，有没有差一？",
        ),
    ),
    replaces=(top_p,),
    cites=("L2 §3.3",),
)
