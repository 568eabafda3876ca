"""multi_head_attention uses one wide head."""

from solution.attention import causal_mask, merge_heads, scaled_dot_product_attention, split_heads

from .bug import Bug, Text


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, 1) for w in (w_q, w_k, w_v))
    length = x.shape[1]
    heads = scaled_dot_product_attention(q, k, v, causal_mask(length, length))
    return merge_heads(heads) @ w_o


BUG = Bug(
    name="multi-head-one-head",
    part=2,
    summary=Text(
        en="attention with a single head as wide as all heads together",
        zh="只有一个头、宽度等于所有头之和的 attention",
    ),
    explanation=Text(
        en=(
            "The projections are never cut into heads, so one softmax serves the whole width. All "
            "shapes fit, and position 0, which sees only itself, is right. But one head makes one "
            "distribution: it cannot attend to the previous word with one part of its columns and to "
            "the subject of the sentence with another."
        ),
        zh=(
            "投影之后没有拆成多个头，整个宽度共用一个 softmax。形状全都对得上，位置 0 只看自己，"
            "也是对的。但一个头只能产生一个分布：它没法用一部分列关注前一个词，同时用另一部分列关注句子的主语。"
        ),
    ),
    hints=(
        Text(
            en="Position 0 is right. How many different sets of weights does your code make for position 3?",
            zh="位置 0 是对的。对位置 3，你的代码算出了几组不同的权重？",
        ),
        Text(
            en="Call your function with n_heads = 1 and n_heads = 3 on the same weights. Do the results differ?",
            zh="用同样的权重，分别以 n_heads = 1 和 n_heads = 3 调用。结果有区别吗？",
        ),
        Text(
            en="Each head needs scores and a softmax of its own. Where in your code does n_heads enter?",
            zh="每个头都要有自己的分数和自己的 softmax。n_heads 在你代码的哪里起作用？",
        ),
    ),
    replaces=(multi_head_attention,),
    cites=("L2 §2.6", "D3 多头"),
)
