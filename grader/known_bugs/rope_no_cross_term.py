"""The sine multiplies the entry itself instead of its partner."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos + even * sin
    rotated[..., 1::2] = odd * cos + odd * sin
    return rotated


BUG = Bug(
    name="rope-no-cross-term",
    part=3,
    summary=Text(
        en="a RoPE that computes x cos + x sin, without exchanging the two entries of a pair",
        zh="只算 x cos + x sin、没有交换一对里两个数的 RoPE",
    ),
    explanation=Text(
        en=(
            "The formula x cos + rotate(x) sin is applied without rotate: each entry is multiplied by "
            "cos + sin and never meets its partner. Nothing turns, entries are only made larger or "
            "smaller with the position; where cos + sin is near 0 they vanish. Position 0 is right."
        ),
        zh=(
            "套用了 x cos + rotate(x) sin 这个公式，却漏了 rotate："
            "每个数只是乘以 cos + sin，和配对的另一个数毫无关系。什么都没有转动，只是随位置放大或缩小；"
            "cos + sin 接近 0 的地方，数值几乎消失。位置 0 是对的。"
        ),
    ),
    hints=(
        Text(
            en="Rotate [1, 0]. Does the second entry ever become anything but 0?",
            zh="旋转 [1, 0]。第二个数有没有可能不等于 0？",
        ),
        Text(
            en="A rotation keeps lengths. By which factor does yours change them?",
            zh="旋转不改变长度。你的把长度乘以了什么因子？",
        ),
        Text(
            en="Each new entry of a pair is made from both old ones: one goes with cos, its partner with sin.",
            zh="一对里每个新的数都由两个旧的数得到：自己乘 cos，另一个乘 sin。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
