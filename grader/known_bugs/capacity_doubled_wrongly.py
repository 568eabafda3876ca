"""Growing the cache scatters the rows it holds."""

import numpy as np

from .bug import Bug, Text


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (n_layers, batch_size, n_kv_heads, 1, head_dim)
        self._keys = np.zeros(shape, dtype)
        self._values = np.zeros(shape, dtype)
        self._max_len = max_len
        self._lengths = [0] * n_layers

    def append(self, layer, k, v):
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        if end > self._max_len:
            raise ValueError(
                f"layer {layer} would hold {end} positions, the cache has {self._max_len}"
            )
        while end > self._keys.shape[3]:
            *outer, capacity, head_dim = self._keys.shape
            self._keys = np.resize(self._keys, (*outer, 2 * capacity, head_dim))
            self._values = np.resize(self._values, (*outer, 2 * capacity, head_dim))
        self._keys[layer, :, :, start:end] = k
        self._values[layer, :, :, start:end] = v
        self._lengths[layer] = end
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]


BUG = Bug(
    name="capacity-doubled-wrongly",
    part=4,
    summary=Text(
        en="a cache that loses its rows each time its capacity doubles",
        zh="容量每翻一倍就打乱已有内容的 cache",
    ),
    explanation=Text(
        en=(
            "The cache starts small and doubles its capacity when it is full. np.resize fills "
            "the larger array with the old numbers in memory order, but a longer position axis "
            "moves the beginning of every head, row and layer. All is right until the length of "
            "a cache that holds something passes a power of two; then the old rows lie in wrong "
            "places."
        ),
        zh=(
            "cache 起初很小，满了就把容量翻倍。np.resize 按内存顺序用旧数据填满大数组，"
            "可是位置轴变长以后，每个头、每一行、每一层的起点都变了。已有内容的 cache，"
            "长度没有越过 2 的幂时一切正常，一旦越过，旧内容就全部错位。"
        ),
    ),
    hints=(
        Text(
            en="Which step is the first wrong one, and how many positions does the cache hold then?",
            zh="最先出错的是哪一步？那时 cache 里有多少个位置？",
        ),
        Text(
            en="Append positions one by one and compare the old rows before and after the array grows.",
            zh="逐个追加位置，比较数组变大前后的旧内容。",
        ),
        Text(
            en="Make a larger array and copy the old rows along the position axis, or take max_len from the start: you are told it.",
            zh="新建更大的数组，沿位置轴把旧内容复制过去；或者一开始就用 max_len，它本来就给出了。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.5",),
)
