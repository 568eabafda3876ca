"""The cache is counted with H heads."""

from .bug import Bug, Text


def kv_bytes_per_token(config, bytes_per_number=2):
    return 2 * config.n_layers * config.n_heads * config.head_dim * bytes_per_number


BUG = Bug(
    name="kv-bytes-query-heads",
    part=8,
    summary=Text(
        en="KV bytes of a cache with as many heads as there are queries",
        zh="按 query 头数算的 KV 字节数",
    ),
    explanation=Text(
        en=(
            "What is cached are the keys and values of G heads; query heads share them and are not "
            "cached at all. With H in place of G the saving of GQA disappears from the account, and "
            "Llama-3.1-8B seems to need 512 KiB a token where it needs 128."
        ),
        zh=(
            "缓存的是 G 个头的 key 和 value；query 头共用它们，自己根本不进 cache。用 H "
            "代替 G，GQA 省下的就从账上消失了：Llama-3.1-8B 每个 token 看起来要"
            " 512 KiB，其实只要 128 KiB。"
        ),
    ),
    hints=(
        Text(
            en="The ratio of your number to the right one is H / G. Which heads are stored?",
            zh="你的数和正确结果之比是 H / G。存下来的是哪些头？",
        ),
        Text(
            en="With which number of heads is KVCache created in Part 5?",
            zh="第 5 部分里，KVCache 是按几个头建的？",
        ),
        Text(
            en="Why is there no cache of queries? (§4)",
            zh="为什么没有 query 的 cache？（§4）",
        ),
    ),
    replaces=(kv_bytes_per_token,),
    cites=("L2 §5.5", "L2 §6.2", "D3 GQA"),
)
