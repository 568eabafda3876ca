"""A decode step attends to its own latent but never stores it."""

import numpy as np

from solution.mla import mla_absorbed
from solution.rope import apply_rope

from .bug import Bug, Text


def mla_decode_step(model, token, cache):
    position = cache.length
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, np.array([position]), model.config.rope_theta)
        k_rope = apply_rope(k_rope, np.array([position]), model.config.rope_theta)
        latent = model.norm_latent(layer, latent)
        latents = np.concatenate([cache._latents[layer, :, :position], latent], axis=1)
        rope_keys = np.concatenate([cache._rope_keys[layer, :, :position], k_rope], axis=1)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-append-forgotten",
    part=6,
    summary=Text(
        en="an MLA decode that never stores the new latents",
        zh="从不把新的潜在向量写进 cache 的 MLA decode",
    ),
    explanation=Text(
        en=(
            "A decode step reads the cache, adds the new latent and RoPE key for its own "
            "attention, and leaves the cache as it was. The first step is right. From the "
            "second on, the tokens generated before are missing, and as cache.length stands "
            "still, each new token takes the same position again."
        ),
        zh=(
            "decode 一步读了 cache，把新的潜在向量和 RoPE key 用在自己的注意力里，却没有写回 cache。"
            "第一步是对的；从第二步起，之前生成的 token 全不见了，而且 cache.length 不动，"
            "每个新 token 都站在同一个位置上。"
        ),
    ),
    hints=(
        Text(
            en="Step 1 is right and step 2 is not. What should the first step leave behind?",
            zh="第 1 步对、第 2 步错。第一步应该留下什么？",
        ),
        Text(
            en="Print cache.length after every decode step.",
            zh="每步 decode 之后打印 cache.length。",
        ),
        Text(
            en="Each step computes one new latent and one new RoPE key a layer. The next step needs both.",
            zh="每一步在每层都算出一个新的潜在向量和一个新的 RoPE key，下一步两个都要用。",
        ),
    ),
    replaces=(mla_decode_step,),
    cites=("L2 §5.3", "L2 §6.4"),
)
