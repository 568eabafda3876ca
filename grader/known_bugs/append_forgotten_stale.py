"""A decode step attends to what the prefill cached, and to nothing newer."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    length = cache.length
    position = np.array([length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, _, _ = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        keys = cache._keys[layer, :, :, :length]
        values = cache._values[layer, :, :, :length]
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="append-forgotten-stale",
    part=4,
    summary=Text(
        en="a decode that neither stores the new token nor attends to it",
        zh="既不存储也不关注新 token 的 decode",
    ),
    explanation=Text(
        en=(
            "A decode step reads the cache and never calls append. The new token sees the "
            "prompt but not itself, later tokens do not see it either, and because cache.length "
            "stands still they all get the same position. The prefill is right, and every step "
            "from 1 on is wrong."
        ),
        zh=(
            "decode 只读 cache，从不调用 append。新 token 看得到提示，"
            "却看不到自己，后面的 token 也看不到它；而且 cache.length 一直不变，"
            "所有新 token 都得到同一个位置。prefill 不受影响，从第 1 步起每一步都错。"
        ),
    ),
    hints=(
        Text(
            en="Print cache.length after each decode step.",
            zh="每做完一步 decode，打印 cache.length。",
        ),
        Text(
            en="A decode step computes a key and a value as well as a query. What becomes of them?",
            zh="decode 除了算 query，还算出 key 和 value。它们后来到哪里去了？",
        ),
        Text(
            en="The order is: rotate, append, then attend over everything the cache holds.",
            zh="顺序是：先旋转，再追加，最后对 cache 里的全部内容做注意力。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.2", "L2 §5.3"),
)
