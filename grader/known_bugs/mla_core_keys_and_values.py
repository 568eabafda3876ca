"""The latent is cached twice, for keys and for values."""

from .bug import Bug, Text


def mla_core(config, context, bytes_per_number=2):
    latent, heads = config.latent_dim, config.n_heads
    in_and_out = latent * (config.nope_dim + config.v_dim)
    scores_and_sum = (2 * latent + config.rope_dim) * context
    cached = 2 * (latent + config.rope_dim)
    return 2 * heads * (in_and_out + scores_and_sum), cached * context * bytes_per_number


BUG = Bug(
    name="mla-core-keys-and-values",
    part=8,
    summary=Text(
        en="an MLA core that reads keys and values apart",
        zh="把 key 和 value 分开各读一份的 MLA 核心",
    ),
    explanation=Text(
        en=(
            "The factor 2 for K and V is carried over from other caches. MLA stores one latent a token, "
            "from which both come: scores and sum use the same d_c numbers, and the RoPE key has no "
            "value beside it. That is d_c + d_R numbers a token and layer, 576 in DeepSeek-V3."
        ),
        zh=(
            "把别的 cache 里“K 和 V 两份”的因子 2 照搬了过来。MLA 每个 token 只存一个潜在"
            "向量，key 和 value 都从它来：算分数和算加权和用的是同一组 d_c 个数，RoPE key 旁"
            "边也没有 value。所以每个 token 每层是 d_c + d_R 个数，DeepSeek-V3 是"
            " 576。"
        ),
    ),
    hints=(
        Text(
            en="The FLOPs are right and the bytes are doubled. What does MLACache of Part 6 hold?",
            zh="FLOPs 对，字节多了一倍。第 6 部分的 MLACache 里存了什么？",
        ),
        Text(
            en="For one position, which numbers does the score need, and which the sum?",
            zh="对一个位置，算分数要哪些数？算加权和要哪些数？",
        ),
        Text(
            en="DeepSeek-V3 has 512 + 64 numbers a token and layer. Do you count more?",
            zh="DeepSeek-V3 每个 token 每层是 512 + 64 个数。你算多了吗？",
        ),
    ),
    replaces=(mla_core,),
    cites=("L2 §6.4", "L2 练习 7"),
)
