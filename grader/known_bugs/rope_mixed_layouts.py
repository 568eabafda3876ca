"""Neighbours are turned by angles laid out for halves."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    angles = np.concatenate([angles, angles], axis=-1)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    turned = np.empty_like(x)
    turned[..., 0::2], turned[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * cos + turned * sin


BUG = Bug(
    name="rope-mixed-layouts",
    part=3,
    summary=Text(
        en="a RoPE that turns neighbouring pairs by angles arranged for halves",
        zh="对相邻的一对数旋转、角度却按前后两半排列的 RoPE",
    ),
    explanation=Text(
        en=(
            "Two layouts are mixed: the entries are paired with their neighbours, but the list of "
            "angles is repeated end to end, as it has to be when entry i is paired with entry i + d_h / "
            "2. The two entries of a pair then turn by different angles, which is no rotation at all: "
            "lengths change, and scores no longer depend on the difference of positions alone."
        ),
        zh=(
            "两种排列方式混用了：数是相邻配对的，角度表却是整段重复两遍，"
            "那是第 i 个数和第 i + d_h / 2 个数配对时的排法。于是同一对里的两个数转了不同的角度，"
            "根本不是旋转：长度会变，分数也不再只依赖位置差。"
        ),
    ),
    hints=(
        Text(
            en="A rotation keeps the length of a vector; yours does not. Do both entries of a pair use the same angle?",
            zh="旋转不改变向量的长度，而你的变了。同一对的两个数用的是同一个角度吗？",
        ),
        Text(
            en="Print the angles of all d_h entries for d_h = 4 at position 1. Entries 0 and 1 must agree.",
            zh="d_h = 4、位置 1 时，打印全部 d_h 个角度。第 0 个和第 1 个应该相等。",
        ),
        Text(
            en="With neighbouring pairs each angle occurs twice in a row: a a b b, not a b a b.",
            zh="相邻配对时，每个角度要连续出现两次：a a b b，而不是 a b a b。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
