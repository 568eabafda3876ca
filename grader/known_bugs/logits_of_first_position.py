"""The logits are those of the first new position."""

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
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, 0])


BUG = Bug(
    name="logits-of-first-position",
    part=4,
    summary=Text(
        en="a prefill that returns the logits of its first position",
        zh="返回第一个位置 logits 的 prefill",
    ),
    explanation=Text(
        en=(
            "The next token follows from the last position, the only one that has seen the "
            "whole prompt. The first has seen itself alone, so the first generated token "
            "ignores the prompt. A decode step has one position, first and last at once, and "
            "is right: step 0 is wrong and step 1 is right when the same tokens are fed."
        ),
        zh=(
            "下一个 token 要由最后一个位置给出，只有它看过整段提示。第一个位置只看过自己，"
            "所以生成的第一个 token 与提示无关。decode 一步只有一个位置，既是第一个也是最后一个，所以是对的："
            "喂同样的 token 时，第 0 步错，第 1 步起反而对。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is wrong and step 1 is right, so the cache holds the right things. What else does a prefill return?",
            zh="第 0 步错、第 1 步对，说明 cache 里的内容没错。prefill 还返回了什么？",
        ),
        Text(
            en="Change the last token of the prompt. Do the logits change?",
            zh="改一下提示的最后一个 token，logits 会变吗？",
        ),
        Text(
            en="Which position has seen the whole prompt?",
            zh="哪个位置看过整段提示？",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §5.1", "D3 从 attention 推出 prefill 和 decode", "tpu-inference#125"),
)
