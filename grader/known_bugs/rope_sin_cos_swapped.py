"""Sine and cosine are swapped."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    sin, cos = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-sin-cos-swapped",
    part=3,
    summary=Text(
        en="a RoPE with sine and cosine swapped",
        zh="sin 和 cos 用反了的 RoPE",
    ),
    explanation=Text(
        en=(
            "Sine and cosine have changed places, as after unpacking a pair in the wrong order. The "
            "result is still a rotation, by a quarter turn minus the angle: position 0 is turned by 90 "
            "degrees, later positions turn backwards, lengths are kept and scores depend on m - n only. "
            "So the properties hold and only the values are wrong."
        ),
        zh=(
            "sin 和 cos 的位置对调了，比如拆包时顺序写反。结果仍是旋转，"
            "只是转的角度变成了 90 度减去原来的角度：位置 0 也被转了 90 度，后面的位置反方向转；"
            "长度不变，分数也只依赖 m - n。所以性质都成立，只有数值是错的。"
        ),
    ),
    hints=(
        Text(
            en="Position 0 is wrong too. Which angle does it have, and what are its sine and cosine?",
            zh="连位置 0 都错了。它的角度是多少？sin 和 cos 各是多少？",
        ),
        Text(
            en="Rotate [1, 0] at position 0. If you get [0, 1], which function gave the 1?",
            zh="把 [1, 0] 放在位置 0 旋转。如果得到 [0, 1]，那个 1 是哪个函数给出的？",
        ),
        Text(
            en="An angle of 0 must leave the vector as it is: cos 0 = 1 belongs to the entry itself, sin 0 = 0 to its partner.",
            zh="角度为 0 时向量应当不变：cos 0 = 1 乘的是自己，sin 0 = 0 乘的是配对的那个数。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
