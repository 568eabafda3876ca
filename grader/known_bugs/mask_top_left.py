"""The causal mask is aligned at the top left."""

import numpy as np

from .bug import Bug, Text


def causal_mask(query_len, key_len):
    return np.tril(np.ones((query_len, key_len), dtype=bool))


BUG = Bug(
    name="mask-top-left",
    part=2,
    summary=Text(
        en="a causal mask aligned at the top left, as if the queries were the first positions",
        zh="按左上角对齐的因果掩码，好像 query 是最前面的几个位置",
    ),
    explanation=Text(
        en=(
            "A lower triangle starts at the top left corner, so the first query sees key 0 only. That "
            "is right when there are as many keys as queries. Behind a cache the queries are the last "
            "positions: the first of them must see all cached keys. With this mask a decode step that "
            "passes a mask sees key 0 alone, and a chunked prefill sees the oldest keys and not itself."
        ),
        zh=(
            "下三角从左上角开始，所以第一个 query 只看得到 key 0。"
            "query 和 key 一样多时这是对的。但有 cache 时，query 是最后的几个位置："
            "其中第一个就应该看到所有缓存的 key。用这个掩码，"
            "带掩码的 decode 一步只看得到 key 0，分块 prefill 只看得到最旧的几个 key，"
            "连自己都看不到。"
        ),
    ),
    hints=(
        Text(
            en="Square masks are right, wide ones are not. At which positions do the queries stand when there are more keys than queries?",
            zh="方阵的掩码是对的，宽的不对。key 比 query 多的时候，query 位于哪些位置？",
        ),
        Text(
            en="Print causal_mask(1, 6). The only query is position 5. What should it see?",
            zh="打印 causal_mask(1, 6)。唯一的 query 在位置 5，它应该看到哪些 key？",
        ),
        Text(
            en="Row i is position key_len - query_len + i. The triangle has to end in the bottom right corner.",
            zh="第 i 行是位置 key_len - query_len + i。三角形应该对齐到右下角。",
        ),
    ),
    replaces=(causal_mask,),
    cites=("L2 §2.5", "pytorch#108108", "onnx#8068"),
)
