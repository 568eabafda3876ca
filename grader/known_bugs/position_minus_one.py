"""In decode, the new token is rotated at the position of the token before it."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    position = np.array([cache.length - 1])
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
    name="position-minus-one",
    part=4,
    summary=Text(
        en="a decode that gives every new token the position of the token before it",
        zh="让每个新 token 沿用前一个 token 位置的 decode",
    ),
    explanation=Text(
        en=(
            "The new query and key are rotated at cache.length - 1, the position the last "
            "cached token already has. Every distance to the prompt is one too small, and the "
            "last token of the prompt seems to stand in the same place as the first new one. "
            "The prefill is right, and the logits are wrong from step 1 on."
        ),
        zh=(
            "新的 query 和 key 按位置 cache.length - 1 旋转，"
            "而这个位置已经属于 cache 里的最后一个 token。"
            "新 token 到提示里每个 token 的距离都少了 1，"
            "提示的最后一个 token 和第一个新 token 好像站在同一处。prefill 不受影响，"
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
            en="The last token of a prompt of 7 is at position 6, not 7. Do two tokens share a position in your decode?",
            zh="7 个 token 的提示，最后一个在位置 6 而不是 7。你的 decode 里有没有两个 token 用了同一个位置？",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.3",),
)
