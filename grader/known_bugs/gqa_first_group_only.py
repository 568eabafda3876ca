"""All query heads read group 0."""

from solution.attention import scaled_dot_product_attention

from .bug import Bug, Text


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} heads cannot share {n_groups} groups")
    return scaled_dot_product_attention(q, k[:, :1], v[:, :1], mask)


BUG = Bug(
    name="gqa-first-group-only",
    part=5,
    summary=Text(
        en="grouped-query attention in which all query heads read key/value head 0",
        zh="所有 query 头都读取第 0 个 key/value 头的 GQA",
    ),
    explanation=Text(
        en=(
            "Only the first key/value head is taken and broadcast over all query heads, as multi-query "
            "attention would do. The heads of group 0 are right and so is every model with G = 1. All "
            "other groups are computed, cached and never read."
        ),
        zh=(
            "只取了第一个 key/value 头，广播给所有 query 头，和 MQA 一样。"
            "第 0 组的头是对的，G = 1 的模型也是对的。其他各组算了、也缓存了，却从来没有被读过。"
        ),
    ),
    hints=(
        Text(
            en="The heads of the first group are right and all others are wrong. Which keys do the others read?",
            zh="第一组的头都对，其余都错。其余的头读了哪些 key？",
        ),
        Text(
            en="Change the values of the last group. Some heads must notice.",
            zh="改动最后一组的 value。应该有一些头的输出会变。",
        ),
        Text(
            en="The size of the head axis of k is G. Check where G, and not only its first entry, enters your code.",
            zh="k 的头轴长度是 G。检查你的代码里，是否用到了全部 G 组，而不只是第一组。",
        ),
    ),
    replaces=(grouped_query_attention,),
    cites=("L2 §6.2", "D3 GQA"),
)
