"""The keys are made with w_q."""

from solution.attention import causal_mask, merge_heads, scaled_dot_product_attention, split_heads

from .bug import Bug, Text


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_q, w_v))
    length = x.shape[1]
    heads = scaled_dot_product_attention(q, k, v, causal_mask(length, length))
    return merge_heads(heads) @ w_o


BUG = Bug(
    name="keys-from-query-weights",
    part=2,
    summary=Text(
        en="multi-head attention that makes its keys with w_q instead of w_k",
        zh="用 w_q 而不是 w_k 计算 key 的多头 attention",
    ),
    explanation=Text(
        en=(
            "A copied line, or the belief that one matrix would do: query and key come from the same "
            "projection. The scores are then symmetric, token A looks at B exactly as strongly as B at "
            "A, and every token tends to look mostly at itself, since a vector's product with itself is "
            "large. D3 calls this a common misconception."
        ),
        zh=(
            "可能是复制粘贴时漏改，也可能以为一个矩阵就够了：query 和 key 来自同一个投影。"
            "这样分数是对称的，A 看 B 和 B 看 A 一样强；而且向量和自己的点积总是很大，"
            "每个 token 都偏向看自己。D3 把它列为常见误区。"
        ),
    ),
    hints=(
        Text(
            en="Compare the scores of tokens (2, 1) and (1, 2) before masking. Should they be equal?",
            zh="比较掩码之前 (2, 1) 和 (1, 2) 两处的分数。它们应该相等吗？",
        ),
        Text(
            en="Change w_k only. Does your result change?",
            zh="只改动 w_k。你的结果变了吗？",
        ),
        Text(
            en="Query, key and value each have a matrix of their own. Check which matrix each of them is made with.",
            zh="query、key、value 各有自己的矩阵。检查它们各是用哪个矩阵算出来的。",
        ),
    ),
    replaces=(multi_head_attention,),
    cites=("L2 §2.3", "D3 常见误区"),
)
