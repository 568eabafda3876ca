"""The latent is cached and used without its norm."""

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
        latents, rope_keys = cache.append(layer, latent, k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-latent-cached-before-norm",
    part=6,
    summary=Text(
        en="a latent attention that forgets the norm of the latent",
        zh="漏掉潜在向量归一化的 MLA",
    ),
    explanation=Text(
        en=(
            "Between the down-projection and the cache there is an RMSNorm of the latent "
            "with weights of its own. Here the raw latent is cached and attended to. Keys "
            "and values have the wrong size and the wrong direction in every layer, from the "
            "first token on. All shapes fit, and decode agrees with the model's own prefill."
        ),
        zh=(
            "下投影之后、写进 cache 之前，潜在向量要做一次 RMSNorm，它有自己的权重。"
            "这里把没有归一化的潜在向量存进了 cache，注意力也直接用它。从第一个 token 起，"
            "每一层的 key 和 value 大小、方向都不对。形状全部合得上，decode 和自己的 prefill 也一致。"
        ),
    ),
    hints=(
        Text(
            en="Even a prompt of one token is wrong, so it is neither the positions nor the cache. What does project_latent promise about the latent?",
            zh="只有一个 token 的提示也错，所以不是位置，也不是 cache。project_latent 的说明里怎么讲潜在向量？",
        ),
        Text(
            en="List the methods of the model that belong to latent attention. Do you call every one?",
            zh="列出模型里与 MLA 有关的方法，每个都调用了吗？",
        ),
        Text(
            en="Something stands between the down-projection and the cache.",
            zh="下投影和 cache 之间还有一步。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §6.4",),
)
