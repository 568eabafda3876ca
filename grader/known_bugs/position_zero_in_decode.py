"""A decode step rotates its token as if it stood at position 0; prefill is right."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    positions = np.array([0])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="position-zero-in-decode",
    part=4,
    summary=Text(
        en="a decode_step that rotates its token as if it stood at position 0, beside a right prefill",
        zh="prefill 正确、但每步 decode 都把新 token 按位置 0 旋转的 decode_step",
    ),
    explanation=Text(
        en=(
            "prefill counts positions from cache.length, in chunks too, but decode_step has a loop "
            "of its own in which the one token always stands at position 0. Step 0 comes from the "
            "prefill and is right; from step 1 on the new query and key are rotated to the start of "
            "the text. No error is raised and the words stay plausible, only worse."
        ),
        zh=(
            "prefill（包括分段）从 cache.length 开始数位置，但 decode_step 自己的循环里，那一个 token 永远在位置 0。"
            "第 0 步来自 prefill，是对的；从第 1 步起，新的 query 和 key 被旋转到文本开头。"
            "不会报错，文字看上去也“像样”，只是质量下降。"
        ),
    ),
    hints=(
        Text(
            en="Chunked prefill is right and a decode step is not, though a decode step is a chunk of one token. What do the two functions do differently?",
            zh="分段 prefill 是对的，decode 却不对，而一步 decode 就是只有一个 token 的一段。这两个函数哪里不同？",
        ),
        Text(
            en="Print the positions that decode_step gives to apply_rope in its first call after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印 decode_step 第一次调用传给 apply_rope 的位置。",
        ),
        Text(
            en="np.arange(T) is [0] for one token. The position of the new token is the number of tokens before it, which the cache knows.",
            zh="只有一个 token 时 np.arange(T) 就是 [0]。新 token 的位置是它前面 token 的个数，cache 知道这个数。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.3", "mlx-vlm#1983"),
)
