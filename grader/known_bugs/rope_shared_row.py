"""All rows of a batch use the positions of row 0."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    if positions.ndim == 2:
        positions = positions[0]
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = even * cos - odd * sin
    rotated[..., 1::2] = even * sin + odd * cos
    return rotated


BUG = Bug(
    name="rope-shared-row",
    part=3,
    summary=Text(
        en="a RoPE that gives every row of the batch the positions of row 0",
        zh="batch 里每一行都用第 0 行位置的 RoPE",
    ),
    explanation=Text(
        en=(
            "With positions of shape (B, T) only the first row is used and broadcast over the batch. "
            "Row 0 is right and so is every batch of one, and every batch whose rows stand at the same "
            "positions. The other rows are turned to places where they do not stand, as happens when "
            "prompts of different lengths are padded and run together."
        ),
        zh=(
            "positions 的形状是 (B, T) 时，只用了第一行，再广播到整个 batch。"
            "第 0 行是对的，batch 只有一行，或者各行位置相同时，也是对的。"
            "其他行则被转到了不属于自己的位置：不同长度的提示补齐后一起运行时，就会出这种错。"
        ),
    ),
    hints=(
        Text(
            en="Batch row 0 is right and row 1 is not. What do the two rows not share?",
            zh="batch 的第 0 行对，第 1 行错。两行之间有什么是不一样的？",
        ),
        Text(
            en="Rotate a batch of two equal rows at positions [[0], [5]]. The results should differ.",
            zh="取两行相同的 batch，位置为 [[0], [5]]，旋转一下。两行的结果应该不同。",
        ),
        Text(
            en="The angles need an axis for the batch. Insert the axes that are missing between B and T.",
            zh="角度需要有 batch 这个轴。在 B 和 T 之间补上缺少的轴。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7", "unsloth#3795"),
)
