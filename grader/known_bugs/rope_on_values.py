"""The values are rotated too."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        v = apply_rope(v, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="rope-on-values",
    part=4,
    summary=Text(
        en="a prefill and decode that rotate the values as well",
        zh="把 value 也旋转了的 prefill 和 decode",
    ),
    explanation=Text(
        en=(
            "RoPE turns queries and keys so that their dot product depends on the distance "
            "between the two positions. A value takes part in no dot product: it is the "
            "content that is mixed. Rotated, its content depends on where the token stands, "
            "and no later step turns it back, so w_o reads something it was not trained for. "
            "A prefill and its decode agree with each other, both are wrong."
        ),
        zh=(
            "RoPE 旋转 query 和 key，是为了让它们的点积只依赖两个位置之差。value 不参与点积，它是被混合的内容。"
            "把它也旋转，内容就会随 token 所在的位置改变，后面又没有哪一步转回来，w_o 读到的就不是训练时的东西。"
            "prefill 和 decode 彼此一致，但两者都错。"
        ),
    ),
    hints=(
        Text(
            en="Your decode agrees with your own prefill, but neither with the reference. Which tensors do you change before they are cached?",
            zh="你的 decode 和自己的 prefill 一致，却都和参照不同。哪些张量在写进 cache 之前被改动了？",
        ),
        Text(
            en="A token at position 0 is not rotated at all. Compare a prompt of one token with a longer one.",
            zh="位置 0 的 token 等于没有旋转。比较只有一个 token 的提示和更长的提示。",
        ),
        Text(
            en="Positions enter through the dot product. Which two of q, k and v take part in it?",
            zh="位置是通过点积进入注意力的。q、k、v 里哪两个参与点积？",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.7", "D3 名词解释"),
)
