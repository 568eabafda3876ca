"""The shared RoPE key is cached without a rotation."""

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
        q_rope = apply_rope(q_rope, positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-rope-key-not-rotated",
    part=6,
    summary=Text(
        en="a latent attention that rotates the RoPE query but not the RoPE key",
        zh="只旋转 RoPE query、不旋转 RoPE key 的 MLA",
    ),
    explanation=Text(
        en=(
            "The query is rotated by its position and the shared key is cached as it is, so "
            "every key looks as if it stood at position 0 and the score depends on the "
            "query's absolute position. Nothing rotates it later: what append returns goes "
            "straight into the scores. A prompt of one token is right."
        ),
        zh=(
            "query 按位置旋转了，共享的 key 却原样存进了 cache。于是每个 key 都像站在位置 0，"
            "分数依赖 query 的绝对位置。之后也没有哪一步补上旋转：append 返回的 key 直接用来算分数。"
            "只有一个 token 的提示是对的。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right. Which tensors must know their position from the second token on?",
            zh="只有一个 token 的提示是对的。从第二个 token 起，哪些张量必须知道自己的位置？",
        ),
        Text(
            en="Exchange two earlier tokens of the prompt. Does your attention in the first layer notice?",
            zh="交换提示里靠前的两个 token，你的第一层注意力看得出来吗？",
        ),
        Text(
            en="A key is rotated once, before it is cached: the docstring of append says so.",
            zh="key 只旋转一次，在写进 cache 之前：append 的说明里写着。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §2.7", "L2 §6.4"),
)
