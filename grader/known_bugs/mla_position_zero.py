"""The RoPE parts of new tokens are rotated as if the cache were empty."""

import numpy as np

from solution.attention import causal_mask
from solution.mla import mla_absorbed
from solution.rope import apply_rope

from .bug import Bug, Text


def mla_prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        q_rope = apply_rope(q_rope, positions, model.config.rope_theta)
        k_rope = apply_rope(k_rope, positions, model.config.rope_theta)
        latents, rope_keys = cache.append(layer, model.norm_latent(layer, latent), k_rope)
        w_uk, w_uv = model.up_projections(layer)
        heads = mla_absorbed(q_nope, q_rope, latents, rope_keys, w_uk, w_uv, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mla-position-zero",
    part=6,
    summary=Text(
        en="a latent attention that counts positions from 0 in every call",
        zh="每次调用都从 0 数位置的 MLA",
    ),
    explanation=Text(
        en=(
            "The positions start at 0 in each call instead of at cache.length. A first "
            "prefill is right. A second chunk and every decode step rotate their RoPE parts "
            "to the start of the text, so all distances are wrong. Only the small RoPE part "
            "of the scores is affected, so the text stays plausible for long."
        ),
        zh=(
            "每次调用里位置都从 0 开始，而不是从 cache.length 开始。第一次 prefill 是对的；"
            "第二段提示和之后每一步 decode 的 RoPE 部分都被旋转到文本开头，距离全错。"
            "受影响的只是分数里较小的 RoPE 部分，所以文字能“像样”很久。"
        ),
    ),
    hints=(
        Text(
            en="One prefill is right, the same prompt in two chunks is not. What does the second chunk have to know?",
            zh="一次 prefill 是对的，同样的提示分两段就错。第二段必须知道什么？",
        ),
        Text(
            en="Print the positions you give to apply_rope in the first decode step after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印第一步 decode 传给 apply_rope 的位置。",
        ),
        Text(
            en="The cache knows how many tokens came before.",
            zh="cache 知道前面有多少个 token。",
        ),
    ),
    replaces=(mla_prefill,),
    cites=("L2 §5.3", "L2 §6.4", "MemOS#2315"),
)
