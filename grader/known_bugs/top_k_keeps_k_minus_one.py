"""The k-th largest logit is removed too."""

import numpy as np

from .bug import Bug, Text


def top_k(logits, k):
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    kth_largest = np.sort(logits, axis=-1)[..., -min(k, logits.shape[-1]), None]
    is_best = logits == logits.max(axis=-1, keepdims=True)
    return np.where((logits > kth_largest) | is_best, logits, -np.inf)


BUG = Bug(
    name="top-k-keeps-k-minus-one",
    part=7,
    summary=Text(
        en="a top-k that keeps k - 1 tokens",
        zh="只保留 k - 1 个 token 的 top-k",
    ),
    explanation=Text(
        en=(
            "The k-th largest logit is found correctly and then compared with >, so it falls "
            "to its own threshold and one token too few stays. For k = 1 this would leave "
            "nothing, and whoever repairs only that case keeps the fault for every other k: "
            "k >= V, too, should keep everything and loses a token."
        ),
        zh=(
            "第 k 大的 logit 找对了，但比较时用了 >，于是它被自己的门槛挡在外面，少留一个 token。"
            "k = 1 时会一个都不剩；如果只把这种情况补上，其他 k 仍然是错的：k >= V 本该全部保留，也会少一个。"
        ),
    ),
    hints=(
        Text(
            en="Count the finite logits in a row of your result. Are there k?",
            zh="数一数结果每行有几个有限的 logit，是 k 个吗？",
        ),
        Text(
            en="With k equal to the size of the vocabulary nothing should change. What changes?",
            zh="k 等于词表大小时什么都不该变，你的结果变了哪里？",
        ),
        Text(
            en="The logit that serves as the threshold belongs to the k tokens as well.",
            zh="被当作门槛的那个 logit，本身也属于要保留的 k 个。",
        ),
    ),
    replaces=(top_k,),
    cites=("L2 §3.3",),
)
