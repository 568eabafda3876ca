"""The absorbed scores are scaled by the width of what is cached."""

import math

import numpy as np

from solution.attention import softmax
from solution.mla import _per_head, absorb

from .bug import Bug, Text


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    c, shared_key = latent[:, None], k_rope[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2) + q_rope @ shared_key.swapaxes(-1, -2)
    scores = scores / math.sqrt(latent.shape[-1] + k_rope.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])


BUG = Bug(
    name="mla-scale-by-cached-width",
    part=6,
    summary=Text(
        en="absorbed attention scaled by 1/sqrt(d_c + d_R)",
        zh="用 1/sqrt(d_c + d_R) 缩放的吸收写法",
    ),
    explanation=Text(
        en=(
            "Seen from the cache, absorbed attention looks like attention with one key head "
            "of d_c + d_R numbers, and the scale is taken from this width: 576 instead of "
            "192 in DeepSeek-V3. The dot product is still that of the model's own query and "
            "key, only computed in another order, so the scale has to stay what it was. The "
            "scores are too small and the attention too flat."
        ),
        zh=(
            "从 cache 看，吸收之后的注意力像是只有一个 key 头、宽 d_c + d_R，于是缩放也用了这个宽度："
            "DeepSeek-V3 里成了 576，而不是 192。但点积仍是模型原来的 query 和 key 的点积，"
            "只是换了计算顺序，缩放应该不变。结果分数偏小，注意力分布偏平。"
        ),
    ),
    hints=(
        Text(
            en="mla_naive is right and mla_absorbed is not. Compare the two scores of one query and one key before the softmax.",
            zh="mla_naive 对、mla_absorbed 错。取一个 query 和一个 key，比较两种写法在 softmax 之前的分数。",
        ),
        Text(
            en="The width of what is cached says how much is read, not how the model was trained.",
            zh="缓存内容的宽度说明要读多少数，不说明模型是怎么训练的。",
        ),
        Text(
            en="How wide are a head's query and key before absorption? The scale comes from there.",
            zh="吸收之前，一个头的 query 和 key 有多宽？缩放由它决定。",
        ),
    ),
    replaces=(mla_absorbed,),
    cites=("L2 §6.4", "L2 §9.3", "ollama#13893", "vllm#41569"),
)
