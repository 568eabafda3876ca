"""The mask covers the new keys only; what is cached stays hidden."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = np.zeros((length, start + length), dtype=bool)
    mask[:, start:] = causal_mask(length, length)
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
    name="mask-square-in-second-chunk",
    part=4,
    summary=Text(
        en="a prefill and decode whose mask hides everything cached",
        zh="掩码把 cache 里的内容全挡住的 prefill 和 decode",
    ),
    explanation=Text(
        en=(
            "The mask is the square one of a prompt, laid over the newest keys, and the "
            "columns of the cached keys are left False. A prefill into an empty cache has no "
            "such columns and is right. From the second chunk or the first decode step on, "
            "the new tokens see only each other: a decode step sees itself alone, its "
            "attention output is its own value, and the text forgets its prompt."
        ),
        zh=(
            "这里用的是处理整段提示时的方形掩码，只盖在最新的 key 上，cache 里的 key 对应的列都是 False。"
            "对空 cache 做 prefill 时没有这些列，所以是对的。从第二段提示或第一步 decode 起，"
            "新 token 只看得到彼此：decode 的 token 只看得到自己，注意力输出就是它自己的 v，提示全被忘掉。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right. From step 1 on, does your result depend on the prompt at all?",
            zh="第 0 步是对的。从第 1 步起，你的结果还依赖提示吗？",
        ),
        Text(
            en="Print the mask of the first decode step after a prompt of 7 tokens. How many entries are True?",
            zh="提示有 7 个 token 时，打印第一步 decode 的掩码。里面有几个 True？",
        ),
        Text(
            en="The new tokens are the last of all positions and may see everything before them, the cached ones too.",
            zh="新 token 是所有位置里的最后几个，它们前面的一切都能看，包括 cache 里的。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.5", "L2 §5.2", "candle#3743"),
)
