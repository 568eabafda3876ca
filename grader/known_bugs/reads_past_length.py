"""Decode attends to the unused rows of the cache too."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (n_layers, batch_size, n_kv_heads, max_len, head_dim)
        self._keys = np.zeros(shape, dtype)
        self._values = np.zeros(shape, dtype)
        self._lengths = [0] * n_layers


def decode_step(model, token, cache):
    position = np.array([cache.length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        cache.append(layer, k, v)
        heads = grouped_query_attention(q, cache._keys[layer], cache._values[layer])
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="reads-past-length",
    part=4,
    summary=Text(
        en="a decode that also attends to the empty positions of the cache",
        zh="连 cache 里的空位也一起关注的 decode",
    ),
    explanation=Text(
        en=(
            "The whole array goes into attention, not only its first length rows. A key of "
            "zeros gets the score 0, which is far from a weight of 0: each empty row takes its "
            "share of the softmax and gives a zero value for it. The error shrinks as the cache "
            "fills up, and the step that fills it is right."
        ),
        zh=(
            "参与注意力的是整个数组，而不只是前 length 行。全零的 key 得分为 0，"
            "但权重远不是 0：每个空行都在 softmax 里分走一份，换来的是全零的 value。"
            "cache 越满误差越小，填满的那一步反而是对的。"
        ),
    ),
    hints=(
        Text(
            en="Is the error largest in step 1 and smaller in every further step?",
            zh="误差是不是在第 1 步最大，之后逐步变小？",
        ),
        Text(
            en="Give the cache ten times the max_len it needs. The logits must not change: do they?",
            zh="把 max_len 开到所需的十倍，logits 不应改变。你的变了吗？",
        ),
        Text(
            en="exp(0) is 1, not 0. Attend to the positions the cache holds, not to the room it has.",
            zh="exp(0) 是 1，不是 0。只关注 cache 里已有的位置，不要关注预留的空间。",
        ),
    ),
    replaces=(KVCache, decode_step),
    cites=("L2 §5.2", "transformers#30414"),
)
