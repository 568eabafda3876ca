"""The new token is rotated as if it stood at position 0."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="position-zero",
    part=4,
    summary=Text(
        en="a decode that rotates every new token as if it stood at position 0",
        zh="每个新 token 都按位置 0 旋转的 decode",
    ),
    explanation=Text(
        en=(
            "The positions of the new tokens start at 0 in each call instead of at cache.length. "
            "A prefill into an empty cache is right, and so is step 0; from step 1 on the new "
            "query and key are rotated to the start of the text, all relative positions are wrong, "
            "and the model still writes plausible text, only worse."
        ),
        zh=(
            "每次调用里新 token 的位置都从 0 开始，而不是从 cache.length 开始。对空 cache 做 prefill 是对的，"
            "所以第 0 步也对；从第 1 步起，新的 query 和 key 被旋转到文本开头，相对位置全错，"
            "模型照样写出“像样”的文字，只是质量下降。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not. What does a decode step know that a prefill of an empty cache need not know?",
            zh="第 0 步对、第 1 步错。decode 需要知道什么，是对空 cache 做 prefill 时不需要知道的？",
        ),
        Text(
            en="Print the positions you give to apply_rope in the first decode step after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印第一步 decode 传给 apply_rope 的位置。",
        ),
        Text(
            en="The cache knows how many tokens came before. The next token's position is that number.",
            zh="cache 知道前面有多少个 token；下一个 token 的位置就是这个数。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §5.3", "MemOS#2315"),
)
