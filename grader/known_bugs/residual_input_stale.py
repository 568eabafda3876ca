"""The MLP adds to the layer's input, and the attention's output is lost."""

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
        model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="residual-input-stale",
    part=4,
    summary=Text(
        en="a model whose layers lose the output of their attention",
        zh="每一层都丢掉注意力输出的模型",
    ),
    explanation=Text(
        en=(
            "The result of add_attention is not assigned, as if it changed x in place, so "
            "add_mlp is called with the layer's input. Each layer is then x + MLP(x): the "
            "attention is computed and thrown away, no token learns anything from another, "
            "and the logits depend on the last token alone. Decode agrees perfectly with a "
            "recompute, because both ignore the past."
        ),
        zh=(
            "add_attention 的结果没有赋给 x（好像它会就地修改 x 一样），add_mlp 用的还是这一层的输入。"
            "于是每一层只剩 x + MLP(x)：注意力算了又丢掉，token 之间没有任何信息交流，"
            "logits 只取决于最后一个 token。decode 和重算完全一致，因为两者都不看过去。"
        ),
    ),
    hints=(
        Text(
            en="Change the first token of the prompt. Do your last logits change?",
            zh="改一下提示的第一个 token，最后的 logits 会变吗？",
        ),
        Text(
            en="Follow x through one layer on paper: which x goes into the MLP?",
            zh="在纸上跟着 x 走一层：进入 MLP 的是哪个 x？",
        ),
        Text(
            en="The residual stream runs through both sublayers, one after the other.",
            zh="残差流要先后穿过两个子层，第二个接着第一个的输出。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §3.2",),
)
