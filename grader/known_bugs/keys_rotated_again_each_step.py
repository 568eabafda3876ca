"""The whole cache is rotated again, in place, at every step."""

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
        keys, values = cache.append(layer, k, v)
        keys[:] = apply_rope(keys, np.arange(start + length), model.config.rope_theta)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="keys-rotated-again-each-step",
    part=4,
    summary=Text(
        en="a decode that rotates the whole cache again at every step",
        zh="每一步都把整个 cache 再旋转一遍的 decode",
    ),
    explanation=Text(
        en=(
            "New keys are appended as they are, then all keys of the cache are rotated and the "
            "result stays there. The prefill rotates each key once, so step 0 is right. Each "
            "decode step turns the old keys further by their own position, and the older a "
            "token is in the cache, the more often it has been turned."
        ),
        zh=(
            "新 key 直接追加，然后把 cache 里的所有 key 旋转一遍，"
            "结果就留在 cache 里。prefill 时每个 key 只转一次，所以第 0 步是对的；"
            "此后每一步 decode 都把旧 key 按各自的位置再转一次，在 cache 里待得越久，"
            "转的次数越多。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right. Does a decode step change keys that are cached already?",
            zh="第 0 步对。一步 decode 会不会改动 cache 里已有的 key？",
        ),
        Text(
            en="Copy the first rows of the cache before a decode step and compare them afterwards.",
            zh="decode 之前复制 cache 的前几行，之后再比较。",
        ),
        Text(
            en="Cached keys are rotated once and for all. Rotate the new ones before they go in, and leave the rest alone.",
            zh="cache 里的 key 一次旋转好就不再动。新 key 在存入之前旋转，其余的不要碰。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.7", "shainet#110"),
)
