"""The head's number is divided by G instead of R."""

import numpy as np

from solution.attention import scaled_dot_product_attention

from .bug import Bug, Text


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} heads cannot share {n_groups} groups")
    group = np.arange(n_heads) // n_groups
    return scaled_dot_product_attention(q, k[:, group], v[:, group], mask)


BUG = Bug(
    name="gqa-head-over-groups",
    part=5,
    summary=Text(
        en="grouped-query attention in which query head h reads key/value head h // G instead of h // R",
        zh="query 头 h 读取第 h // G 个（而不是第 h // R 个）key/value 头的 GQA",
    ),
    explanation=Text(
        en=(
            "The number of a head is divided by the number of groups, not by the number of heads in a "
            "group. The two agree only when G = R. For G larger than R the last groups are never read; "
            "in a multi-head model (G = H) all heads read group 0; for G smaller than R the index runs "
            "out of range, so that multi-query attention raises an IndexError."
        ),
        zh=(
            "头的编号除以了组数 G，而不是每组的头数 R。只有 G = R 时两者才一致。G 大于 R 时，"
            "后面几组永远读不到；在 MHA 模型里（G = H），所有头都去读第 0 组；"
            "G 小于 R 时下标越界，所以 MQA 会抛出 IndexError。"
        ),
    ),
    hints=(
        Text(
            en="Print the group that each head reads. Is every group read equally often?",
            zh="打印每个头读取的组。每一组被读的次数相同吗？",
        ),
        Text(
            en="With 12 heads and 4 groups the last head must read group 3. Which does yours read?",
            zh="12 个头、4 组时，最后一个头应该读第 3 组。你的读了哪一组？",
        ),
        Text(
            en="A group holds R = H / G heads. To find a head's group, count how many full groups come before it.",
            zh="一组有 R = H / G 个头。要找一个头属于哪组，就数它前面有几个完整的组。",
        ),
    ),
    replaces=(grouped_query_attention,),
    cites=("L2 §6.2", "D3 GQA", "ONNXim#34"),
)
