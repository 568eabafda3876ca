"""The RoPE part of the query is not rotated."""

import numpy as np

from solution.attention import causal_mask
from solution.mla import mla_absorbed
from solution.rope import apply_rope

from .bug import Bug, Text


def mla_prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        k_rope = apply_rope(k_rope, positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-rope-query-not-rotated",
    part=6,
    summary=Text(
        en="a latent attention that rotates the RoPE key but not the RoPE query",
        zh="只旋转 RoPE key、不旋转 RoPE query 的 MLA",
    ),
    explanation=Text(
        en=(
            "The shared key is rotated by its position, the query is not. Their dot product "
            "then depends on the absolute position of the key instead of the distance "
            "between the two: every query behaves as if it stood at position 0. A prompt of "
            "one token is right."
        ),
        zh=(
            "共享的 key 按位置旋转了，query 却没有。于是点积依赖的是 key 的绝对位置，而不是两者的距离："
            "每个 query 都像站在位置 0。只有一个 token 的提示是对的。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right. Which tensors must know their position from the second token on?",
            zh="只有一个 token 的提示是对的。从第二个 token 起，哪些张量必须知道自己的位置？",
        ),
        Text(
            en="Shift all positions by the same amount. The scores should not change; do yours?",
            zh="把所有位置平移同样多，分数不应该变，你的变了吗？",
        ),
        Text(
            en="Relative positions come about only if both sides of the dot product are rotated.",
            zh="点积的两边都旋转，才会得到相对位置。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §2.7", "L2 §6.4"),
)
