"""The positions are replaced by 0, 1, 2."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = np.arange(x.shape[-2])[:, None] * rope_frequencies(x.shape[-1], theta)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-positions-ignored",
    part=3,
    summary=Text(
        en="a RoPE that counts from 0 whatever positions it is given",
        zh="不管传入什么位置、总从 0 开始数的 RoPE",
    ),
    explanation=Text(
        en=(
            "The vectors are numbered 0, 1, 2 in the order in which they come, and the argument "
            "positions is not used. A prefill into an empty cache is right. Everything that starts "
            "later is not: each decode step is rotated to position 0, a second chunk starts over, and "
            "rows of a batch cannot stand at different places."
        ),
        zh=(
            "向量按出现的顺序编号 0、1、2，参数 positions 没有用到。"
            "对空 cache 做 prefill 是对的，从后面开始的就都错了："
            "decode 的每一步都被转到位置 0，第二块 prefill 又从头数起，"
            "batch 里的各行也没法处在不同的位置。"
        ),
    ),
    hints=(
        Text(
            en="Which argument of apply_rope does your code not read?",
            zh="apply_rope 的哪个参数，你的代码没有读？",
        ),
        Text(
            en="Rotate a single vector at position 5. Does it change at all?",
            zh="把单个向量放在位置 5 旋转。它变了吗？",
        ),
        Text(
            en="The positions need not start at 0 nor be consecutive. The caller knows them; take them from the argument.",
            zh="位置不一定从 0 开始，也不一定连续。调用者知道位置，应当用传入的参数。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7", "L2 §5.3", "MemOS#2315"),
)
