"""The causal mask admits the later tokens."""

import numpy as np

from .bug import Bug, Text


def causal_mask(query_len, key_len):
    query_positions = np.arange(key_len - query_len, key_len)
    return np.arange(key_len) >= query_positions[:, None]


BUG = Bug(
    name="mask-anticausal",
    part=2,
    summary=Text(
        en="a causal mask turned around, in which a token sees itself and what comes after it",
        zh="方向相反的因果掩码：token 看到自己和后面的位置",
    ),
    explanation=Text(
        en=(
            "The comparison points the wrong way, or triu stands where tril is meant: the upper "
            "triangle is admitted. Each token sees itself and the later ones. The last token sees only "
            "itself, so a decode step that passes this mask returns the new token's own value and "
            "ignores the whole cache."
        ),
        zh=(
            "比较的方向反了，或者该用 tril 的地方用了 triu：放行的是上三角。"
            "每个 token 看得到自己和后面的 token。最后一个 token 只看得到自己，"
            "所以带掩码的 decode 一步只会返回新 token 自己的 value，"
            "整个 cache 都被忽略。"
        ),
    ),
    hints=(
        Text(
            en="Which row of your mask is all True: the first or the last?",
            zh="你的掩码里哪一行全是 True：第一行还是最后一行？",
        ),
        Text(
            en="Print causal_mask(4, 4) as integers. The newest token is the last row; how many keys does it see?",
            zh="把 causal_mask(4, 4) 打印成整数。最新的 token 是最后一行，它看得到几个 key？",
        ),
        Text(
            en="Rows are queries and columns are keys. A key may be seen if its position is not later than the query's.",
            zh="行是 query，列是 key。key 的位置不晚于 query 的位置，才可以看。",
        ),
    ),
    replaces=(causal_mask,),
    cites=("L2 §2.5", "D3 因果掩码"),
)
