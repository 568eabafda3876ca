"""The scores leave the RoPE part out."""

import math

import numpy as np

from solution.attention import softmax
from solution.mla import _expand, _per_head, absorb

from .bug import Bug, Text


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    k_nope = _expand(latent, w_uk, n_heads=q_nope.shape[1])
    v = _expand(latent, w_uv, n_heads=q_nope.shape[1])
    scores = q_nope @ k_nope.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    c = latent[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])


BUG = Bug(
    name="mla-rope-key-missing",
    part=6,
    summary=Text(
        en="latent attention without the RoPE part of the scores",
        zh="分数里漏掉 RoPE 部分的 MLA",
    ),
    explanation=Text(
        en=(
            "A score is the sum of two dot products: the one through the latent and the one "
            "with the shared RoPE key. Here the second is missing, so the attention knows no "
            "positions at all. The naive and the absorbed way agree, since both leave it "
            "out; the scale still counts the missing dimensions."
        ),
        zh=(
            "一个分数是两个点积之和：一个经过潜在向量，一个和共享的 RoPE key 相乘。这里缺了第二个，注意力就完全不知道位置。"
            "naive 和 absorbed 都漏了，所以彼此一致；缩放里倒还算着缺的那几维。"
        ),
    ),
    hints=(
        Text(
            en="Which arguments of the function does your result depend on? Change them one at a time.",
            zh="你的结果依赖函数的哪些参数？逐个改一改试试。",
        ),
        Text(
            en="Set q_rope to zero. Does anything change?",
            zh="把 q_rope 设成零，结果有变化吗？",
        ),
        Text(
            en="[q_nope ; q_rope] . [k_nope ; k_rope] is a sum of two parts.",
            zh="[q_nope ; q_rope]·[k_nope ; k_rope] 是两部分之和。",
        ),
    ),
    replaces=(mla_naive, mla_absorbed),
    cites=("L2 §6.4",),
)
