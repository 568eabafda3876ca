"""The keys and values of the first batch row are stored for all rows."""

from .bug import Bug, Text


class KVCache:
    def append(self, layer, k, v):
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        max_len = self._keys.shape[3]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._keys[layer, :, :, start:end] = k[0]
        self._values[layer, :, :, start:end] = v[0]
        self._lengths[layer] = end
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]


BUG = Bug(
    name="cache-shared-across-batch-rows",
    part=4,
    summary=Text(
        en="a cache that stores the keys and values of batch row 0 for every row",
        zh="用第 0 行的 key 和 value 代替所有行的 cache",
    ),
    explanation=Text(
        en=(
            "What is stored is k[0] and v[0], which numpy spreads over the batch without a "
            "word. Row 0 is right at every step. All other rows ask with their own queries and "
            "get the first row's text for an answer, from the prefill on. With a batch of one "
            "nothing is wrong."
        ),
        zh=(
            "存入的是 k[0] 和 v[0]，numpy 会不声不响地把它广播到整个批。"
            "第 0 行每一步都对；其他行用自己的 query 去查，得到的却是第 0 行的文本，"
            "从 prefill 起就错。批大小为 1 时完全正常。"
        ),
    ),
    hints=(
        Text(
            en="Look at which batch rows are wrong. Is row 0 among them?",
            zh="看看错的是批里的哪些行。有第 0 行吗？",
        ),
        Text(
            en="Append keys that differ between rows and print what comes back for each row.",
            zh="追加各行互不相同的 key，打印每一行返回的内容。",
        ),
        Text(
            en="Assigning (G, T, d_h) to a slot of shape (B, G, T, d_h) broadcasts silently. Keep the batch axis.",
            zh="把 (G, T, d_h) 赋给形状为 (B, G, T, d_h) 的位置会悄悄广播。要保留 batch 轴。",
        ),
    ),
    replaces=(KVCache,),
    cites=("L2 §5.5",),
)
