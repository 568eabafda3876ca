"""The latents that come out of the cache are normed once more."""

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
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        latents = model.norm_latent(layer, latents)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-latent-normed-twice",
    part=6,
    summary=Text(
        en="a latent attention that norms the latent twice",
        zh="对潜在向量做了两次归一化的 MLA",
    ),
    explanation=Text(
        en=(
            "The latent is normed before it is cached and again when it is read. The second "
            "norm brings nearly the same size back, but applies the norm's weights a second "
            "time, so every entry is off by its own weight. Were all weights 1, hardly "
            "anything would change, which is how it can pass a test with fresh weights."
        ),
        zh=(
            "潜在向量写进 cache 之前归一化了一次，读出来又归一化了一次。第二次归一化之后大小差不多，但归一化的权重又乘了一遍，"
            "每个分量都差一个自己的权重。如果权重全是 1，几乎看不出变化，所以用初始权重做的测试可能发现不了。"
        ),
    ),
    hints=(
        Text(
            en="Set the weights of the latent's norm to 1. Is the result nearly right now?",
            zh="把潜在向量归一化的权重全设成 1，结果是不是几乎对了？",
        ),
        Text(
            en="Is the latent in your cache already normed? What happens to it after append returns it?",
            zh="你的 cache 里的潜在向量是归一化过的吗？append 返回之后又对它做了什么？",
        ),
        Text(
            en="Each latent passes through its norm once in its life.",
            zh="每个潜在向量从算出来到用掉，只归一化一次。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §6.4",),
)
