"""A prefill that continues a cache uses no mask."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, length) if start == 0 else None
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
    name="chunk-without-mask",
    part=4,
    summary=Text(
        en="a prefill that uses no causal mask when it continues a cache",
        zh="续写 cache 时不加因果掩码的 prefill",
    ),
    explanation=Text(
        en=(
            "The mask is made for an empty cache only; when there are cached positions it is "
            "left out, which is right for one new token. In a chunk of several, each token then "
            "sees the ones behind it, and what it stores is spoilt for all later tokens. The "
            "first chunk and all decode steps are right."
        ),
        zh=(
            "只有 cache 为空时才加掩码，cache 里已有内容时就省掉了；"
            "这对单个新 token 是对的。一次来好几个 token 时，每个都看到了后面的 token，"
            "存进 cache 的内容也随之出错。第一块和单步 decode 都是对的。"
        ),
    ),
    hints=(
        Text(
            en="One prefill is right, decode is right, and a second chunk of several tokens is not. Who sees whom in it?",
            zh="一次做完的 prefill 对，decode 也对，第二块有多个 token 时就错。这一块里谁看得到谁？",
        ),
        Text(
            en="With 4 tokens cached and 3 new ones, write down the mask, 3 rows by 7 columns.",
            zh="cache 里有 4 个 token，又来 3 个：写出 3 行 7 列的掩码。",
        ),
        Text(
            en="Only for a single new token is the mask all True. The general case is the last T of S positions.",
            zh="只有一个新 token 时掩码才全为 True。一般情形是：query 为 S 个位置中的最后 T 个。",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.5", "L2 §5.2", "mlx-node#24"),
)
