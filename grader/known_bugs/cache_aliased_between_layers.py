"""All layers write to the same array."""

import numpy as np

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (batch_size, n_kv_heads, max_len, head_dim)
        self._keys = [np.empty(shape, dtype)] * n_layers
        self._values = [np.empty(shape, dtype)] * n_layers
        self._lengths = [0] * n_layers

    def append(self, layer, k, v):
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        max_len = self._keys[layer].shape[2]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._keys[layer][:, :, start:end] = k
        self._values[layer][:, :, start:end] = v
        self._lengths[layer] = end
        return self._keys[layer][:, :, :end], self._values[layer][:, :, :end]


BUG = Bug(
    name="cache-aliased-between-layers",
    part=4,
    summary=Text(
        en="a cache in which all layers share one storage",
        zh="所有层共用一份存储的 cache",
    ),
    explanation=Text(
        en=(
            "A list made by [array] * n_layers holds the same array n_layers times. In a "
            "prefill each layer writes its rows and reads them at once, so step 0 is right. "
            "Afterwards every layer finds the rows of the last one in the old positions, and "
            "only the newest row is its own."
        ),
        zh=(
            "[array] * n_layers 得到的列表里，n_layers 个元素是同一个数组。"
            "prefill 时每层写完马上读，所以第 0 步是对的；"
            "之后每一层在旧位置上读到的都是最后一层的内容，只有最新一行属于自己。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right. Who wrote last to the rows that layer 0 reads in step 1?",
            zh="第 0 步对。第 1 步里第 0 层读到的那些行，最后是谁写的？",
        ),
        Text(
            en="Append 1 to layer 0, then 2 to layer 1, then 3 to layer 0. What does the last call return?",
            zh="先往第 0 层追加 1，再往第 1 层追加 2，再往第 0 层追加 3。最后一次调用返回什么？",
        ),
        Text(
            en="Multiplying a list copies references, not arrays. Each layer needs an array of its own.",
            zh="列表乘法复制的是引用，不是数组。每一层都要有自己的数组。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.2", "L2 §5.5"),
)
