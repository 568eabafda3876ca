"""Positions are counted from 1."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = (positions[..., None] + 1) * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-counts-from-one",
    part=3,
    summary=Text(
        en="a RoPE that counts positions from 1 instead of 0",
        zh="位置从 1 而不是从 0 开始数的 RoPE",
    ),
    explanation=Text(
        en=(
            "Every vector is turned one step too far. Query and key are shifted alike, so all scores "
            "and all logits come out right and a whole model shows nothing. The rotated vectors "
            "themselves are wrong: position 0 should not be turned at all, and a cache filled by this "
            "code does not fit one filled by another."
        ),
        zh=(
            "每个向量都多转了一步。query 和 key 一起平移，所以分数和 logits 都是对的，"
            "整个模型看不出任何问题。错的是旋转后的向量本身：位置 0 不应该转动，"
            "而且这段代码写出来的 cache 和别人写出来的对不上。"
        ),
    ),
    hints=(
        Text(
            en="Lengths and relative positions are right. What should happen to a vector at position 0?",
            zh="长度和相对位置的性质都对。位置 0 的向量应该怎样变化？",
        ),
        Text(
            en="Rotate [1, 0] at position 0 and look at the angle.",
            zh="把 [1, 0] 放在位置 0 旋转，看看转了多少角度。",
        ),
        Text(
            en="The angle is m times the frequency, with m as given; nothing is added.",
            zh="角度是 m 乘以频率，m 就是传入的位置，不要再加什么。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
