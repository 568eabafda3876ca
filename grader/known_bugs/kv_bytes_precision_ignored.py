"""Two bytes are taken whatever is asked for."""

from .bug import Bug, Text


def kv_bytes_per_token(config, bytes_per_number=2):
    return 2 * config.n_layers * config.n_kv_heads * config.head_dim * 2


BUG = Bug(
    name="kv-bytes-precision-ignored",
    part=8,
    summary=Text(
        en="KV bytes in BF16, whatever precision is asked for",
        zh="不管要什么精度都按 BF16 算的 KV 字节数",
    ),
    explanation=Text(
        en=(
            "The argument bytes_per_number is not used. A quantised cache of int8 or FP8 has one byte a "
            "number: that is the saving the account is to show, 85.9 in place of 171.8 GB in L2's "
            "exercise 5."
        ),
        zh=(
            "参数 bytes_per_number 没有用上。量化成 int8 或 FP8 的 cache 每个数只"
            "占一个字节：这正是这笔账要显示的节省，L2 练习 5 里是 85.9 GB，而不是 171.8 GB。"
        ),
    ),
    hints=(
        Text(
            en="BF16 is right and one byte a number is not.",
            zh="BF16 是对的，每个数一个字节的就不对。",
        ),
        Text(
            en="Which arguments does your formula use, and which does it not?",
            zh="你的公式用了哪些参数，没用哪些？",
        ),
        Text(
            en="There are two factors of 2 in the BF16 figure, and only one of them belongs to K and V.",
            zh="BF16 的结果里有两个因子 2，只有一个属于 K 和 V。",
        ),
    ),
    replaces=(kv_bytes_per_token,),
    cites=("L2 §5.5", "L2 练习 5"),
)
