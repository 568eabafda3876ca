"""Every layer uses the weights of layer 0."""

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
        q, k, v = model.project_qkv(0, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(0, x, heads)
        x = model.add_mlp(0, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="layer-zero-everywhere",
    part=4,
    summary=Text(
        en="a model that uses the weights of layer 0 in every layer",
        zh="每一层都用第 0 层权重的模型",
    ),
    explanation=Text(
        en=(
            "The loop runs over the layers and the cache keeps them apart, but the model is "
            "asked for layer 0 each time: a number that stayed from a first attempt with one "
            "layer. The shapes are the same in all layers, so nothing complains. A model "
            "with one layer is right, and decode agrees with a recompute by the same code."
        ),
        zh=(
            "循环确实走过每一层，cache 也分层存放，但每次向模型要的都是第 0 层：多半是先用一层试验时留下来的数字。各层形状相同，"
            "所以不会报错。只有一层的模型是对的，decode 和同一份代码的重算也一致。"
        ),
    ),
    hints=(
        Text(
            en="Would your code be right for a model of one layer? For two?",
            zh="模型只有一层时你的代码对吗？两层呢？",
        ),
        Text(
            en="Your decode agrees with your own prefill, so the cache is not to blame. Which weights does the second layer use?",
            zh="你的 decode 和自己的 prefill 一致，问题不在 cache。第二层用的是哪些权重？",
        ),
        Text(
            en="Look for a number in the loop's body where its variable should stand.",
            zh="看看循环体里有没有哪个本该写循环变量的地方写成了数字。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §3.2",),
)
