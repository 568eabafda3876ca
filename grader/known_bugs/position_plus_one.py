"""In decode, the new token is rotated one position too far."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    position = np.array([cache.length + 1])
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
    name="position-plus-one",
    part=4,
    summary=Text(
        en="a decode that places every new token one position too far",
        zh="把每个新 token 的位置多算 1 的 decode",
    ),
    explanation=Text(
        en=(
            "The new query and key are rotated at cache.length + 1. Positions count from 0, so "
            "the token behind n cached ones stands at n. The decoded tokens keep the right "
            "distances to each other, but every distance to the prompt is one too large, as if "
            "there were a gap. The prefill is right, and the logits are wrong from step 1 on."
        ),
        zh=(
            "新的 query 和 key 按位置 cache.length + 1 旋转。位置从 0 数起，"
            "cache 里有 n 个 token 时，下一个就在位置 n。"
            "decode 出来的 token 之间距离是对的，"
            "但它们到提示里每个 token 的距离都多了 1，好像中间空了一格。prefill 不受影响，"
            "从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="Print the positions you give to apply_rope in the first decode step after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印第一步 decode 传给 apply_rope 的位置。",
        ),
        Text(
            en="A prompt of 7 tokens takes positions 0 to 6. Which number comes next, and what is cache.length at that moment?",
            zh="7 个 token 的提示占用位置 0 到 6。下一个位置是几？此时 cache.length 又是几？",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.3", "onnxruntime-genai#2354"),
)
