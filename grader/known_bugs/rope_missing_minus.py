"""Both lines of the rotation have a plus sign."""

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
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-missing-minus",
    part=3,
    summary=Text(
        en="a RoPE whose rotation matrix has no minus sign",
        zh="旋转矩阵里没有负号的 RoPE",
    ),
    explanation=Text(
        en=(
            "Both lines have a plus sign. The matrix with rows (cos, sin) and (sin, cos) is no "
            "rotation: it stretches some vectors and shrinks others, depending on the position, and the "
            "product of a query and a key depends on more than m - n. At position 0 it is still right."
        ),
        zh=(
            "两行都写成了加号。以 (cos, sin) 和 (sin, cos) 为行的矩阵不是旋转："
            "它会随位置拉长一些向量、缩短另一些，query 和 key 的点积也不再只依赖 m - n。"
            "位置 0 仍然是对的。"
        ),
    ),
    hints=(
        Text(
            en="A rotation keeps the length of a vector. Compute the length before and after.",
            zh="旋转不改变向量的长度。算一下旋转前后的长度。",
        ),
        Text(
            en="Rotate [0, 1] by a quarter turn, pi / 2. It should become [-1, 0].",
            zh="把 [0, 1] 旋转四分之一圈，即 pi / 2。应得到 [-1, 0]。",
        ),
        Text(
            en="A rotation matrix has exactly one minus sign. Look at the docstring for where it stands.",
            zh="旋转矩阵里恰好有一个负号。看函数说明里它在哪里。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
