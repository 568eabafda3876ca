"""The cache is read once for the whole batch."""

from solution.accounting import forward_flops, kv_bytes_per_token, matmul_params

from .bug import Bug, Text


def decode_intensity(config, batch, context, bytes_per_number=2):
    flops = sum(forward_flops(config, batch, 1, context - 1).values())
    cache = context * kv_bytes_per_token(config, bytes_per_number)
    return flops / (matmul_params(config) * bytes_per_number + cache)


BUG = Bug(
    name="intensity-cache-shared",
    part=8,
    summary=Text(
        en="a decode intensity in which all sequences share one cache",
        zh="所有序列共用一份 cache 的 decode 强度",
    ),
    explanation=Text(
        en=(
            "Weights are the same for all sequences of a batch, and so read once. Keys and values belong "
            "to one sequence each; here one cache serves all of them. The intensity then grows with the "
            "batch without a limit, where it should stop at f / k."
        ),
        zh=(
            "batch 里所有序列的权重是同一份，所以只读一次。key 和 value 却各属于一个序列；这里让一份"
            " cache 供所有序列用。强度于是随 batch 无限增长，而它本该停在 f / k。"
        ),
    ),
    hints=(
        Text(
            en="A batch of 1 is right. What else grows with the batch?",
            zh="batch 为 1 时是对的。还有什么随 batch 增长？",
        ),
        Text(
            en="Can two users' texts have the same keys?",
            zh="两个用户的文字会有相同的 key 吗？",
        ),
        Text(
            en="In B f / (W + B k), which B is missing in yours?",
            zh="B f / (W + B k) 里，你的式子少了哪个 B？",
        ),
    ),
    replaces=(decode_intensity,),
    cites=("L2 §5.6",),
)
