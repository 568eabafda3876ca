"""K and V are counted as one."""

from .bug import Bug, Text


def kv_bytes_per_token(config, bytes_per_number=2):
    return config.n_layers * config.n_kv_heads * config.head_dim * bytes_per_number


BUG = Bug(
    name="kv-bytes-keys-only",
    part=8,
    summary=Text(
        en="KV bytes of the keys alone",
        zh="只算了 key 的 KV 字节数",
    ),
    explanation=Text(
        en=(
            "A token leaves two vectors behind in every layer and head: its key, by which it is found, "
            "and its value, which is taken. One of them is missing here, so a cache looks half as large "
            "as it is."
        ),
        zh=(
            "一个 token 在每一层的每个头里都要留下两个向量：key 用来被找到，value 用来被取走。这里少"
            "算了一个，cache 看起来就只有一半大。"
        ),
    ),
    hints=(
        Text(
            en="Your number is half of the right one. What are there two of?",
            zh="你的数是正确结果的一半。什么东西有两份？",
        ),
        Text(
            en="What does `append` of Part 4 take, besides the layer?",
            zh="第 4 部分的 `append` 除了层号还收什么？",
        ),
        Text(
            en="One of the two factors 2 is for the bytes of a number. What is the other for?",
            zh="两个因子 2，一个是每个数的字节数。另一个是什么？",
        ),
    ),
    replaces=(kv_bytes_per_token,),
    cites=("L2 §5.5",),
)
