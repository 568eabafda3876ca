"""grouped_query_attention does not pass its mask on."""

from solution.attention import scaled_dot_product_attention

from .bug import Bug, Text


def grouped_query_attention(q, k, v, mask=None):
    batch, n_heads, length, head_dim = q.shape
    n_groups = k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} heads cannot share {n_groups} groups")
    grouped = q.reshape(batch, n_groups, n_heads // n_groups, length, head_dim)
    heads = scaled_dot_product_attention(grouped, k[:, :, None], v[:, :, None])
    return heads.reshape(batch, n_heads, length, v.shape[-1])


BUG = Bug(
    name="gqa-mask-forgotten",
    part=5,
    summary=Text(
        en="grouped-query attention that does not pass its mask on",
        zh="没有把掩码传下去的 GQA",
    ),
    explanation=Text(
        en=(
            "The mask is an argument of grouped_query_attention and stops there; the attention inside "
            "sees every key. Without a mask and for a single newest query all is right, so decode steps "
            "look fine. A prefill becomes bidirectional, and what it caches from the second layer on is "
            "wrong."
        ),
        zh=(
            "掩码作为参数传给了 grouped_query_attention，却没有继续往下传；"
            "里面的 attention 看得到所有 key。没有掩码，或只有一个最新的 query 时都是对的，"
            "所以 decode 一步看起来正常。但 prefill 成了双向的，从第二层起，"
            "写进 cache 的内容都是错的。"
        ),
    ),
    hints=(
        Text(
            en="The last query is right and the earlier ones are not. What do these see that they should not?",
            zh="最后一个 query 对，前面的都错。前面的看到了什么不该看的？",
        ),
        Text(
            en="Call the function with and without a mask. The results should differ; do they?",
            zh="带掩码和不带掩码各调用一次。结果应该不同；你的呢？",
        ),
        Text(
            en="Follow the argument mask from the signature to the softmax.",
            zh="从函数签名开始，跟着 mask 这个参数一直走到 softmax。",
        ),
    ),
    replaces=(grouped_query_attention,),
    cites=("L2 §2.5", "L2 §6.2"),
)
