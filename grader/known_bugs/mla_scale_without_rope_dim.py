"""The scale counts only the part of the query without position."""

import math

import numpy as np

from solution.attention import softmax
from solution.mla import _expand, _per_head, absorb

from .bug import Bug, Text


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    k_nope = _expand(latent, w_uk, n_heads=q_nope.shape[1])
    v = _expand(latent, w_uv, n_heads=q_nope.shape[1])
    scores = q_nope @ k_nope.swapaxes(-1, -2) + q_rope @ k_rope[:, None].swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    c, shared_key = latent[:, None], k_rope[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2) + q_rope @ shared_key.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])


BUG = Bug(
    name="mla-scale-without-rope-dim",
    part=6,
    summary=Text(
        en="latent attention scaled by 1/sqrt(d_nope), without the RoPE dimensions",
        zh="用 1/sqrt(d_nope) 缩放、漏算 RoPE 维度的 MLA",
    ),
    explanation=Text(
        en=(
            "A head's query and key have two parts, and the score is the dot product of both "
            "together: a sum of d_nope + d_R products. The scale must count them all. With "
            "1/sqrt(d_nope) every score is too large by the same factor and the softmax is a "
            "little too sharp. The naive and the absorbed way agree, because both have the "
            "same fault."
        ),
        zh=(
            "一个头的 query 和 key 由两部分拼成，分数是两部分合在一起的点积，一共 d_nope + d_R 项，"
            "缩放时应该都算进去。只除以 sqrt(d_nope)，所有分数都按同一比例偏大，softmax 偏尖一点。"
            "naive 和 absorbed 两种写法结果一致，因为错得一样。"
        ),
    ),
    hints=(
        Text(
            en="The scores are all off by one factor. Which number in the formula is a factor of all of them?",
            zh="所有分数都差同一个倍数。公式里哪个数是所有分数共有的因子？",
        ),
        Text(
            en="How many products does one score add up?",
            zh="一个分数是多少项乘积之和？",
        ),
        Text(
            en="The score has two parts, and the dimension under the root counts both.",
            zh="分数有两部分，根号下的维度要把两部分都算上。",
        ),
    ),
    replaces=(mla_naive, mla_absorbed),
    cites=("L2 §6.4", "L2 §9.3"),
)
