"""The exponent is -i / d_h instead of -2i / d_h."""

import numpy as np

from .bug import Bug, Text


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, got {head_dim}")
    return theta ** (-np.arange(head_dim // 2) / head_dim)


BUG = Bug(
    name="rope-exponent-i-over-d",
    part=3,
    summary=Text(
        en="RoPE frequencies theta ** (-i / d_h), without the factor 2 in the exponent",
        zh="指数里少了因子 2、写成 theta ** (-i / d_h) 的 RoPE 频率",
    ),
    explanation=Text(
        en=(
            "The number of the pair, 0 to d_h / 2 - 1, is divided by d_h. The exponents then end near "
            "-1/2 instead of near -1: the first pair is right, and all others turn too fast, the "
            "slowest by a factor of nearly sqrt(theta). Everything else about the rotation holds, so "
            "lengths and relative positions look fine."
        ),
        zh=(
            "用对的编号（0 到 d_h / 2 - 1）除以了 d_h。指数最后只到 -1/2 附近，"
            "而不是 -1 附近：第一对是对的，其余都转得太快，最慢的一对快了将近 sqrt(theta) 倍。"
            "旋转的其他性质都成立，所以长度和相对位置看起来没有问题。"
        ),
    ),
    hints=(
        Text(
            en="The first frequency is right and the others are too large. What is the exponent of the last one?",
            zh="第一个频率对，其余都偏大。最后一个的指数是多少？",
        ),
        Text(
            en="rope_frequencies(4) must be [1, 0.01]. Write down the exponent that gives 0.01 for theta = 10000.",
            zh="rope_frequencies(4) 应该是 [1, 0.01]。theta = 10000 时，哪个指数能得到 0.01？",
        ),
        Text(
            en="Pair i starts at entry 2i of the vector, and it is 2i that is divided by d_h.",
            zh="第 i 对从向量的第 2i 个数开始，除以 d_h 的正是 2i。",
        ),
    ),
    replaces=(rope_frequencies,),
    cites=("L2 §2.7",),
)
