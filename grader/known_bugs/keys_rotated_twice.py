"""Keys are rotated before they are stored and again when they are read."""

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
        keys, values = cache.append(layer, k, v)
        keys = apply_rope(keys, np.arange(start + length), model.config.rope_theta)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="keys-rotated-twice",
    part=4,
    summary=Text(
        en="a cache whose keys are rotated before they are stored and again when they are read",
        zh="存入前旋转一次、读出后又旋转一次 key 的 cache",
    ),
    explanation=Text(
        en=(
            "New keys are rotated and appended, and then everything that comes back from the "
            "cache is rotated once more. A key at position n ends up at 2n while its query is "
            "at n, so distances are wrong already in the prefill, for all tokens but those at "
            "position 0."
        ),
        zh=(
            "新 key 旋转后追加，从 cache 读回的全部内容又旋转了一次。"
            "位置 n 的 key 最后转到了 2n，而 query 还在 n，"
            "所以 prefill 里的距离就已经错了，只有位置 0 的 token 例外。"
        ),
    ),
    hints=(
        Text(
            en="Is a prefill of one token right and one of two tokens wrong?",
            zh="是不是一个 token 的 prefill 对，两个 token 的就错？",
        ),
        Text(
            en="Count how many times apply_rope touches the same key on its way to attention.",
            zh="数一数同一个 key 在参与注意力之前经过了几次 apply_rope。",
        ),
        Text(
            en="Rotate the new keys only. What the cache returns is rotated already.",
            zh="只旋转新的 key。cache 返回的 key 已经旋转过了。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.7", "shainet#110"),
)
