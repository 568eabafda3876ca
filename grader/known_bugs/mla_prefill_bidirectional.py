"""The latent prefill has no causal mask."""

import numpy as np

from solution.mla import mla_absorbed
from solution.rope import apply_rope

from .bug import Bug, Text


def mla_prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, positions, model.config.rope_theta)
        k_rope = apply_rope(k_rope, positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-prefill-bidirectional",
    part=6,
    summary=Text(
        en="an MLA prefill without a causal mask",
        zh="没有因果掩码的 MLA prefill",
    ),
    explanation=Text(
        en=(
            "A decode step has one query and needs no mask, and the prefill was given none "
            "either: every prompt token also sees those after it. From the second layer on "
            "the cached latents come from such positions, so decode is wrong as well. A "
            "prompt of one token is right."
        ),
        zh=(
            "decode 一步只有一个 query，不需要掩码，prefill 却也没有给掩码："
            "提示里的每个 token 都看到了它后面的 token。从第二层起，缓存的潜在向量都由这样的位置算出，"
            "所以 decode 也跟着错。只有一个 token 的提示是对的。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right and a longer one is not. What can a token of a longer prompt see?",
            zh="提示只有一个 token 时对，长一点就错。较长的提示里，一个 token 能看到谁？",
        ),
        Text(
            en="Prefill the same tokens one at a time. Why does the result change?",
            zh="把同样的 token 一个一个地 prefill，为什么结果变了？",
        ),
        Text(
            en="mla_absorbed has a last argument. What do you pass when there are several new tokens?",
            zh="mla_absorbed 还有最后一个参数。一次有多个新 token 时，你传了什么？",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §2.5", "L2 §6.4", "mlxcel#998"),
)
