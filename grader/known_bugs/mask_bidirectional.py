"""multi_head_attention uses no mask."""

from solution.attention import merge_heads, scaled_dot_product_attention, split_heads

from .bug import Bug, Text


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    return merge_heads(scaled_dot_product_attention(q, k, v)) @ w_o


BUG = Bug(
    name="mask-bidirectional",
    part=2,
    summary=Text(
        en="multi-head attention without a causal mask, in which every token sees all others",
        zh="没有因果掩码、每个 token 都看得到所有 token 的多头 attention",
    ),
    explanation=Text(
        en=(
            "The mask is written and then not passed on. Every position sees all others, as in BERT. "
            "The last position, which may see everything anyway, is right. With bidirectional attention "
            "a new token changes the outputs of all earlier ones, so their keys and values in the next "
            "layer change too and a KV cache cannot work."
        ),
        zh=(
            "掩码写好了，却没有传进去。每个位置都看得到所有位置，就像 BERT。最后一个位置本来就能看全部，"
            "所以是对的。在双向 attention 里，新来一个 token 会改变前面所有位置的输出，"
            "下一层的 key 和 value 也跟着变，KV cache 就不成立了。"
        ),
    ),
    hints=(
        Text(
            en="The last position is right and the earlier ones are not. Which tokens do these see?",
            zh="最后一个位置对，前面的都错。前面的位置看到了哪些 token？",
        ),
        Text(
            en="Change the last token of x. Which outputs change, and which may?",
            zh="改动 x 的最后一个 token。哪些输出变了？哪些允许变？",
        ),
        Text(
            en="A language model's attention is causal. You wrote the function that says who sees whom in 2.1.",
            zh="语言模型的 attention 是因果的。谁能看谁，由你在 2.1 写的函数决定。",
        ),
    ),
    replaces=(multi_head_attention,),
    cites=("L2 §2.5", "L2 §5.2", "mlxcel#998"),
)
