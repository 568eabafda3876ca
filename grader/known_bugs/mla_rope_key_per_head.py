"""Only head 0 gets the shared RoPE key."""

import math

import numpy as np

from solution.attention import softmax
from solution.mla import _expand, _per_head, absorb

from .bug import Bug, Text


def mla_naive(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    k_nope = _expand(latent, w_uk, n_heads=q_nope.shape[1])
    v = _expand(latent, w_uv, n_heads=q_nope.shape[1])
    scores = q_nope @ k_nope.swapaxes(-1, -2)
    scores[:, 0] += q_rope[:, 0] @ k_rope.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    c = latent[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2)
    scores[:, 0] += q_rope[:, 0] @ k_rope.swapaxes(-1, -2)
    scores = scores / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])


BUG = Bug(
    name="mla-rope-key-per-head",
    part=6,
    summary=Text(
        en="latent attention in which only head 0 uses the RoPE key",
        zh="只有第 0 个头用到 RoPE key 的 MLA",
    ),
    explanation=Text(
        en=(
            "There is one RoPE key a token, and all heads share it: each head takes its own "
            "q_rope against it. Here it is added to the scores of head 0 only, as if it were "
            "that head's key. The other heads know no positions. With one head nothing is "
            "wrong."
        ),
        zh=(
            "每个 token 只有一份 RoPE key，由所有头共享：每个头都要拿自己的 q_rope 去和它做点积。"
            "这里只把这部分分数加到了第 0 个头上，好像它是那个头自己的 key，其他头就不知道位置。只有一个头时没有问题。"
        ),
    ),
    hints=(
        Text(
            en="Which heads of your result are right?",
            zh="你的结果里哪些头是对的？",
        ),
        Text(
            en="k_rope has no head axis. Does that mean it belongs to one head, or to all?",
            zh="k_rope 没有头这个轴。这说明它只属于一个头，还是属于所有头？",
        ),
        Text(
            en="Give the shared key an axis of length 1 where q_rope has its heads and let it broadcast.",
            zh="在 q_rope 的头轴那个位置给共享的 key 加一个长度为 1 的轴，让它广播。",
        ),
    ),
    replaces=(mla_naive, mla_absorbed),
    cites=("L2 §6.4",),
)
