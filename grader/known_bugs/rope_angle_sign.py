"""The pairs are turned the other way."""

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
    rotated[..., 0::2] = even * cos + odd * sin
    rotated[..., 1::2] = odd * cos - even * sin
    return rotated


BUG = Bug(
    name="rope-angle-sign",
    part=3,
    summary=Text(
        en="a RoPE that turns by the negative angle",
        zh="按相反方向旋转的 RoPE",
    ),
    explanation=Text(
        en=(
            "The minus sign stands in the wrong line, so everything turns by -m times the frequency. "
            "Lengths are kept and scores still depend on m - n only, and a model trained this way "
            "learns weights to match. With given weights the sign matters: looking back by three tokens "
            "now looks like looking ahead by three."
        ),
        zh=(
            "负号写到了另一行，于是所有角度都成了 -m 乘以频率。长度不变，分数仍然只依赖 m - n，"
            "用这种方式训练的模型会学出相应的权重。但权重一旦给定，符号就有意义：往回看三个 token，"
            "变成了往前看三个。"
        ),
    ),
    hints=(
        Text(
            en="Position 0 is right, lengths and relative positions too. What about a rotation can still be wrong?",
            zh="位置 0 对，长度和相对位置的性质也对。旋转还有什么可能是错的？",
        ),
        Text(
            en="Rotate [1, 0] by 1 radian by hand. Is the second entry positive or negative?",
            zh="手算 [1, 0] 旋转 1 弧度。第二个数是正还是负？",
        ),
        Text(
            en="Compare your two lines with the matrix in the docstring: which of the four entries has the minus sign?",
            zh="把你的两行和函数说明里的矩阵对照：四个元素里，负号在哪一个上？",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7", "nanochat#489"),
)
