"""The latent is rotated as well."""

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
        k_rope = apply_rope(k_rope, positions, model.config.rope_theta)
        latent = model.norm_latent(layer, latent)
        even = latent.shape[-1] // 2 * 2  # pairs only: an odd last entry stays as it is
        latent[..., :even] = apply_rope(latent[..., :even], positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, latent, k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-rope-on-latent",
    part=6,
    summary=Text(
        en="a latent attention that rotates the latent as well",
        zh="把潜在向量也旋转了的 MLA",
    ),
    explanation=Text(
        en=(
            "The latent is rotated by its position before it is cached, as a key would be. "
            "But keys and values are both made from it, by w_uk and w_uv, which expect it as "
            "it is: a rotation in front of them cannot be undone. This is why a separate "
            "small key carries the position. The first token, at position 0, is unchanged, "
            "so a prompt of one token is right."
        ),
        zh=(
            "潜在向量像 key 一样，在缓存之前按位置旋转了。但 key 和 value 都由它经 w_uk、w_uv 得来，"
            "这两个矩阵要的是没有旋转过的潜在向量，夹在前面的旋转消不掉。正因为如此，MLA 才另设一小段 key 来带位置。"
            "位置 0 的 token 不受影响，所以只有一个 token 的提示是对的。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right and a longer one is not. What depends on the position in your loop?",
            zh="提示只有一个 token 时对，长一点就错。你的循环里哪些东西依赖位置？",
        ),
        Text(
            en="Count how often apply_rope is called in a layer.",
            zh="数一数一层里 apply_rope 被调用了几次。",
        ),
        Text(
            en="Only the two RoPE parts carry the position. The latent is what values are made of, too.",
            zh="只有两个 RoPE 部分带位置；潜在向量同时还是 value 的来源。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §6.4",),
)
