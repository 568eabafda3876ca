"""The core counts what the mask throws away."""

from solution.accounting import forward_flops as right_forward_flops

from .bug import Bug, Text


def forward_flops(config, batch, new_tokens, past, last_only=False):
    flops = right_forward_flops(config, batch, new_tokens, past, last_only)
    pairs = new_tokens * (past + new_tokens)
    queries = config.n_heads * config.head_dim
    flops["attention"] = 4 * config.n_layers * batch * queries * pairs
    return flops


BUG = Bug(
    name="flops-masked-pairs-counted",
    part=8,
    summary=Text(
        en="a forward pass whose attention core counts the masked half too",
        zh="注意力核心把被掩掉的一半也算进去的前向 FLOPs",
    ),
    explanation=Text(
        en=(
            "All T · S pairs of query and key are counted, as a naive implementation executes them. "
            "Useful are only those the causal mask allows: the first new token sees itself and the "
            "cache, the next one more, so a long prefill takes about half. Decode steps are right: a "
            "single query sees everything."
        ),
        zh=(
            "query 和 key 的 T · S 个配对全算了，朴素实现执行的确实是这么多。有用的只是因果掩码允许"
            "的那些：第一个新 token 看得到 cache 和自己，下一个多看一个，所以长的 prefill 大约"
            "只有一半。decode 一步是对的：唯一的 query 什么都看得到。"
        ),
    ),
    hints=(
        Text(
            en="Decode steps are right, prefills are not. What does a mask do with one query, and what with many?",
            zh="decode 是对的，prefill 不对。只有一个 query 时掩码做什么？有很多个时呢？",
        ),
        Text(
            en="Draw the mask of 3 new tokens behind 4 cached ones: are all 21 squares True?",
            zh="画出 4 个缓存的 token 后面 3 个新 token 的掩码：21 格全是 True 吗？",
        ),
        Text(
            en="Add up the rows: new token t sees past + t + 1 positions.",
            zh="一行一行加：第 t 个新 token 看得到 past + t + 1 个位置。",
        ),
    ),
    replaces=(forward_flops,),
    cites=("L2 §4.1", "L2 §4.3"),
)
