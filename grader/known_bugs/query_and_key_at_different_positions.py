"""In decode, the key is rotated at its position and the query at 0."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    position = np.array([cache.length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, np.arange(1), model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="query-and-key-at-different-positions",
    part=4,
    summary=Text(
        en="a decode whose new key is rotated at its own position and whose new query is rotated at 0",
        zh="新 key 按自己的位置旋转、新 query 却按位置 0 旋转的 decode",
    ),
    explanation=Text(
        en=(
            "Query and key of one token belong to the same position. Here only the key is "
            "rotated at cache.length, and the query at 0, as if the text began with it. What is "
            "stored is right, so the cache compares equal with the reference's, but every score "
            "is computed with a wrong distance from step 1 on."
        ),
        zh=(
            "同一个 token 的 query 和 key 属于同一个位置。"
            "这里只有 key 按 cache.length 旋转，query 却按 0 旋转，"
            "好像文本从它开始。存进 cache 的内容是对的，和参照比较 cache 看不出问题，"
            "但从第 1 步起，每个分数里的相对距离都错了。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="RoPE makes a score depend on the difference of two positions. Which difference do the new query and its own key get?",
            zh="RoPE 让分数只取决于两个位置之差。新 query 和它自己的 key，位置差是多少？",
        ),
        Text(
            en="Rotate the new query and the new key with the same position array. A token's distance to itself is 0.",
            zh="新 query 和新 key 要用同一个位置数组旋转：一个 token 到它自己的距离是 0。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §2.7", "L2 §5.3"),
)
