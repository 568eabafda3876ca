"""The odd entries are made from the new even ones."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    rotated = x.copy()
    even, odd = rotated[..., 0::2], rotated[..., 1::2]
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-reads-written",
    part=3,
    summary=Text(
        en="a RoPE whose odd entries are computed from the even entries already rotated",
        zh="用已经旋转过的偶数项去算奇数项的 RoPE",
    ),
    explanation=Text(
        en=(
            "The vector is copied and then rotated in place. The slice of even entries is a view, so "
            "after the first line it holds the new values, and the second line reads these instead of "
            "the old ones. Even entries are right and odd ones are wrong at every position but 0."
        ),
        zh=(
            "先复制向量，再原地旋转。偶数项的切片是视图，第一行执行之后，里面已经是新值，"
            "第二行读到的就不是旧值了。除位置 0 外，偶数项都对，奇数项都错。"
        ),
    ),
    hints=(
        Text(
            en="Features 0, 2, 4 are right and 1, 3, 5 are wrong. In which order do you compute them?",
            zh="第 0、2、4 个特征对，第 1、3、5 个错。你是按什么顺序计算的？",
        ),
        Text(
            en="Print the even entries just before the second line uses them. Are they still those of x?",
            zh="在第二行用到偶数项之前把它们打印出来。它们还是 x 里的值吗？",
        ),
        Text(
            en="Both new entries come from both old ones. A slice of a numpy array is a view and changes with the array.",
            zh="两个新值都要由两个旧值算出。numpy 数组的切片是视图，会随数组一起变。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7",),
)
