"""After truncate, the rows cut off come back."""

import numpy as np

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        empty = np.empty((batch_size, n_kv_heads, 0, head_dim), dtype)
        self._keys = [empty] * n_layers
        self._values = [empty] * n_layers
        self._max_len = max_len
        self._lengths = [0] * n_layers

    def append(self, layer, k, v):
        end = self._lengths[layer] + k.shape[2]
        if end > self._max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, not {self._max_len}")
        self._keys[layer] = np.concatenate([self._keys[layer], k], axis=2)
        self._values[layer] = np.concatenate([self._values[layer], v], axis=2)
        self._lengths[layer] = end
        return self._keys[layer][:, :, :end], self._values[layer][:, :, :end]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self.length}")
        self._lengths = [length] * len(self._lengths)


BUG = Bug(
    name="truncate-keeps-old-rows",
    part=4,
    summary=Text(
        en="a cache whose truncated positions come back with the next append",
        zh="截断掉的位置在下一次 append 时又回来的 cache",
    ),
    explanation=Text(
        en=(
            "truncate sets the length back, but append goes on behind the rows that were cut "
            "off. Reading takes the first length rows, so the forgotten ones stand where the "
            "new ones should. Without truncate all is right; after it, a rejected token answers "
            "in place of the one that replaced it."
        ),
        zh=(
            "truncate 只把长度改小，append 却接在被截掉的内容后面写。"
            "读取时取前 length 行，于是该放新内容的地方还是旧内容。"
            "不用 truncate 时一切正常；用过之后，"
            "被放弃的 token 会顶替取代它的新 token。"
        ),
    ),
    hints=(
        Text(
            en="Everything is right until truncate is called. What does the next append return?",
            zh="调用 truncate 之前一切正常。它之后的第一次 append 返回什么？",
        ),
        Text(
            en="Append 1, 2, 3, truncate to 1, append 7. The keys should be 1, 7.",
            zh="追加 1、2、3，截断到 1，再追加 7。key 应该是 1、7。",
        ),
        Text(
            en="There are two things to set back: how much is read, and the place where append writes next.",
            zh="要改回去的有两样：读多少，以及 append 下一次写在哪里。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.2", "mlx-lm#1502", "transformers#47433"),
)
