"""Values are stored one position behind their keys."""

import numpy as np

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (n_layers, batch_size, n_kv_heads, max_len, head_dim)
        self._keys = np.zeros(shape, dtype)
        self._values = np.zeros((*shape[:3], max_len + 1, head_dim), dtype)
        self._lengths = [0] * n_layers

    def append(self, layer, k, v):
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        max_len = self._keys.shape[3]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._keys[layer, :, :, start:end] = k
        self._values[layer, :, :, start + 1 : end + 1] = v
        self._lengths[layer] = end
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]


BUG = Bug(
    name="values-shifted-by-one",
    part=4,
    summary=Text(
        en="a cache whose values stand one position behind their keys",
        zh="value 比 key 错后一位的 cache",
    ),
    explanation=Text(
        en=(
            "The values are written one index too far, so key j is answered by the value of "
            "token j - 1 and the first key by zeros. The weights of the first layer are right "
            "and mix the wrong contents. The newest value is never read in its own step. This "
            "is wrong in the prefill too, from the very first position."
        ),
        zh=(
            "value 写入时下标多了 1，"
            "于是第 j 个 key 对应的是 token j - 1 的 value，"
            "第一个 key 对应全零。第一层的权重是对的，混合的内容却错了；"
            "最新的 value 在自己那一步根本没被读到。prefill 从第一个位置起就已经错了。"
        ),
    ),
    hints=(
        Text(
            en="Prefill a single token. Attention over one position is that position's value: is it?",
            zh="只对一个 token 做 prefill。只有一个位置时，注意力的输出就是它的 value。你的是吗？",
        ),
        Text(
            en="Append keys 1, 2, 3 with values 10, 20, 30 and look at both arrays that come back.",
            zh="追加 key 1、2、3 和 value 10、20、30，看看返回的两个数组。",
        ),
        Text(
            en="Row j of the keys and row j of the values must come from the same token; use the same indices for both.",
            zh="key 的第 j 行和 value 的第 j 行必须来自同一个 token；两者用同样的下标。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.2", "D3 常见误区"),
)
