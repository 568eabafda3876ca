"""Keys and values are averaged over the groups."""

from solution.attention import scaled_dot_product_attention

from .bug import Bug, Text


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} heads cannot share {n_groups} groups")
    k, v = (x.mean(axis=1, keepdims=True) for x in (k, v))
    return scaled_dot_product_attention(q, k, v, mask)


BUG = Bug(
    name="gqa-averaged",
    part=5,
    summary=Text(
        en="grouped-query attention that averages keys and values over all groups",
        zh="把所有组的 key 和 value 取平均的 GQA",
    ),
    explanation=Text(
        en=(
            "One key and one value a position are made by averaging the groups, and all query heads "
            "share them. That is multi-query attention with mixed heads: for G = 1 nothing is wrong, "
            "for larger G the groups lose what distinguishes them. Averaging belongs into the "
            "conversion of a trained model's weights (5.2), not into attention, where each group is "
            "read as it is."
        ),
        zh=(
            "把各组取平均，每个位置只剩一个 key 和一个 value，由所有 query 头共用。"
            "这等于把几个头混在一起的 MQA：G = 1 时没有错，G 更大时，各组之间的区别就丢掉了。"
            "取平均是转换已训练模型的权重时做的事（5.2），在 attention 里，每一组都应原样读取。"
        ),
    ),
    hints=(
        Text(
            en="G = 1 is right and larger G is not. How many different keys does your code compare a query with at one position?",
            zh="G = 1 对，G 更大就错。在同一个位置上，你的代码会拿 query 和几个不同的 key 比较？",
        ),
        Text(
            en="Change the keys of group 1 only. Which query heads may change, and which do?",
            zh="只改第 1 组的 key。哪些 query 头允许变？实际哪些变了？",
        ),
        Text(
            en="Every query head reads exactly one group, whole and unmixed.",
            zh="每个 query 头只读一组，完整地读，不与别组混合。",
        ),
    ),
    replaces=(grouped_query_attention,),
    cites=("L2 §6.2", "D3 GQA"),
)
