"""Each decode step writes over the last position of the cache."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    position = np.array([cache.length])
    cache.truncate(cache.length - 1)
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="newest-overwritten",
    part=4,
    summary=Text(
        en="a decode whose new keys and values replace those of the last token",
        zh="每一步都用新的 key 和 value 覆盖最后一个 token 的 decode",
    ),
    explanation=Text(
        en=(
            "The new row is written at the index of the last cached position, not behind it. "
            "The first decode step erases the last token of the prompt, each further step "
            "erases the token before, and the cache never grows. The prefill is right, and the "
            "logits are wrong from step 1 on."
        ),
        zh=(
            "新的一行写在 cache 最后一个位置上，而不是写在它后面。"
            "第一步 decode 抹掉了提示的最后一个 token，之后每一步都抹掉前一个 token，"
            "cache 从不变长。prefill 不受影响，从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Print cache.length before and after a decode step.",
            zh="在一步 decode 前后各打印一次 cache.length。",
        ),
        Text(
            en="With n positions cached, which index is the last one taken, and which is the first one free?",
            zh="cache 里有 n 个位置时，最后一个已占用的下标是几？第一个空闲的下标是几？",
        ),
        Text(
            en="Nothing old may change in a decode step. Compare the first n rows of the cache before and after it.",
            zh="一步 decode 不能改动任何旧内容。比较前后 cache 的前 n 行。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.2",),
)
