"""The bytes of the cache are left out."""

from solution.accounting import forward_flops, matmul_params

from .bug import Bug, Text


def decode_intensity(config, batch, context, bytes_per_number=2):
    flops = sum(forward_flops(config, batch, 1, context - 1).values())
    return flops / (matmul_params(config) * bytes_per_number)


BUG = Bug(
    name="intensity-without-cache",
    part=8,
    summary=Text(
        en="a decode intensity that reads no cache",
        zh="不读 cache 的 decode 强度",
    ),
    explanation=Text(
        en=(
            "Only the weights are counted as traffic, so the intensity grows with the batch without end, "
            "and a large enough batch seems to make any decode compute-bound. Every sequence reads its "
            "own K and V, which no batch makes cheaper: that is the cap of L2 §5.6."
        ),
        zh=(
            "搬运只算了权重，强度就随 batch 无止境地增长，似乎 batch 够大，decode 总能变成"
            " compute-bound。可是每个序列都要读自己的 K 和 V，batch 再大也摊不薄：这就是"
            " L2 §5.6 的上限。"
        ),
    ),
    hints=(
        Text(
            en="Short contexts are nearly right, long ones are far too high.",
            zh="短的上下文差不多对，长的高出很多。",
        ),
        Text(
            en="What does a decode step read besides the weights?",
            zh="一步 decode 除了权重还要读什么？",
        ),
        Text(
            en="Double the batch: does your intensity double exactly? It should not.",
            zh="把 batch 加倍：你的强度正好也加倍吗？不应该。",
        ),
    ),
    replaces=(decode_intensity,),
    cites=("L2 §5.6",),
)
