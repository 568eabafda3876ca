"""The logits that fall away are set to 0."""

import numpy as np

from .bug import Bug, Text


def top_k(logits, k):
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    smallest_kept = np.sort(logits, axis=-1)[..., -min(k, logits.shape[-1]), None]
    return np.where(logits >= smallest_kept, logits, 0.0)


BUG = Bug(
    name="top-k-zero-instead-of-minus-inf",
    part=7,
    summary=Text(
        en="a top-k that sets the other logits to 0",
        zh="把其余 logits 设成 0 的 top-k",
    ),
    explanation=Text(
        en=(
            "A logit of 0 is no ban: its weight in the softmax is exp(0) = 1. Where the kept "
            "logits are small or negative, the tokens that were to be excluded become as "
            "likely as the kept ones, or likelier. Zero excludes a probability, after the "
            "softmax; before it, only -inf does."
        ),
        zh=(
            "logit 等于 0 并不表示禁止：它在 softmax 里的权重是 exp(0) = 1。"
            "保留下来的 logits 较小或为负时，本该排除的 token 反而和它们一样可能，甚至更可能。"
            "softmax 之后把概率设成 0 才是排除；softmax 之前要排除，只能用 -inf。"
        ),
    ),
    hints=(
        Text(
            en="Apply softmax to your result. What is the probability of a token that should be excluded?",
            zh="对你的结果做 softmax，应该被排除的 token 概率是多少？",
        ),
        Text(
            en="Try a row of negative logits, such as -1, -2, -3, with k = 1. Which token is likeliest now?",
            zh="拿一行负的 logits 试试，比如 -1、-2、-3，k = 1。现在哪个 token 最可能？",
        ),
        Text(
            en="What must x be so that exp(x) is 0? The causal mask uses the same number.",
            zh="x 是多少时 exp(x) 才等于 0？因果掩码用的也是这个数。",
        ),
    ),
    replaces=(top_k,),
    cites=("L2 §3.3", "minGPT#10"),
)
