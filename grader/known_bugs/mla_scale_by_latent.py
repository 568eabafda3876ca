"""The absorbed scores are scaled by the width of the latent."""

import math

import numpy as np

from solution.attention import softmax
from solution.mla import _per_head, absorb

from .bug import Bug, Text


def mla_absorbed(q_nope, q_rope, latent, k_rope, w_uk, w_uv, mask=None):
    c, shared_key = latent[:, None], k_rope[:, None]
    scores = absorb(q_nope, w_uk) @ c.swapaxes(-1, -2) + q_rope @ shared_key.swapaxes(-1, -2)
    scores = scores / math.sqrt(latent.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ c @ _per_head(w_uv, n_heads=q_nope.shape[1])


BUG = Bug(
    name="mla-scale-by-latent",
    part=6,
    summary=Text(
        en="absorbed attention scaled by 1/sqrt(d_c)",
        zh="用 1/sqrt(d_c) 缩放的吸收写法",
    ),
    explanation=Text(
        en=(
            "After absorption the queries and the cached keys are d_c wide, and the scale is "
            "taken from that width. But absorption only moves a matrix from one side of the "
            "dot product to the other: the score is the same number as before, and so is its "
            "scale, which belongs to the model as it was trained. The naive way is right, "
            "the absorbed one is not, and the attention is too flat."
        ),
        zh=(
            "吸收之后，query 和缓存里的 key 都是 d_c 维，于是缩放也跟着用了 d_c。"
            "但吸收只是把一个矩阵从点积的一边挪到另一边，分数还是原来那个数，缩放也就不变：它是模型训练时定下的。"
            "结果 naive 写法对，absorbed 写法错，注意力分布偏平。"
        ),
    ),
    hints=(
        Text(
            en="mla_naive is right and mla_absorbed is not. Compare the two scores of one query and one key before the softmax.",
            zh="mla_naive 对、mla_absorbed 错。取一个 query 和一个 key，比较两种写法在 softmax 之前的分数。",
        ),
        Text(
            en="The two scores differ by one factor everywhere. Which dimensions make this factor?",
            zh="两种分数处处差同一个倍数。这个倍数由哪些维度得来？",
        ),
        Text(
            en="Absorption must not change the scale: use the width a head's query had before it.",
            zh="吸收不能改变缩放：用吸收之前一个头的 query 的宽度。",
        ),
    ),
    replaces=(mla_absorbed,),
    cites=("L2 §6.4", "L2 §9.3", "vllm#41569", "ollama#13893"),
)
