"""A decode step attends to the cache first and appends the new token afterwards."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    length = cache.length
    position = np.array([length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys = cache._keys[layer, :, :, :length]
        values = cache._values[layer, :, :, :length]
        heads = grouped_query_attention(q, keys, values)
        cache.append(layer, k, v)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="attend-before-append",
    part=4,
    summary=Text(
        en="a decode in which the new token cannot see itself",
        zh="新 token 看不到自己的 decode",
    ),
    explanation=Text(
        en=(
            "Attention runs over the old keys and values, and only then the new ones are "
            "appended. Nothing is lost for later tokens, but every decoded token misses itself, "
            "although a causal mask always allows the diagonal. The prefill is right, and the "
            "logits are wrong from step 1 on."
        ),
        zh=(
            "先对旧的 key、value 做注意力，然后才追加新的。后面的 token 什么也不缺，"
            "但每个 decode 的 token 都少看了自己，而因果掩码的对角线始终是允许的。"
            "prefill 不受影响，从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="Print how many keys attention sees in the first decode step after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印第一步 decode 的注意力看到多少个 key。",
        ),
        Text(
            en="It should be 8. Look at the order of the two calls: one of them has to come first.",
            zh="应该是 8 个。看看两个调用的先后：哪一个必须在前？",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.2", "L2 §5.3", "cs249r_book#1953"),
)
