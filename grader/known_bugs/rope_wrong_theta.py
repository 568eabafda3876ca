"""theta is not passed on."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1])
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
    name="rope-wrong-theta",
    part=3,
    summary=Text(
        en="a RoPE that uses theta = 10000 whatever theta it is given",
        zh="不管传入的 theta 是多少、总用 10000 的 RoPE",
    ),
    explanation=Text(
        en=(
            "apply_rope takes theta and does not hand it on, so rope_frequencies falls back to its "
            "default. For theta = 10000 nothing is wrong. For any other model the fastest pair is "
            "right, its frequency being 1 in any case, and the slower ones turn at the wrong speed: "
            "short texts look fine and long ones come apart."
        ),
        zh=(
            "apply_rope 收下了 theta，却没有往下传，"
            "于是 rope_frequencies 用了默认值。theta = 10000 时一切正常。"
            "换别的模型，最快的一对仍然对（它的频率总是 1），较慢的几对转速就错了：短文本看起来没事，"
            "长文本就散了。"
        ),
    ),
    hints=(
        Text(
            en="The first pair is right at every position and the others are not. Which part of the frequency depends on the model?",
            zh="第一对在每个位置都对，其余的错。频率里哪一部分是随模型变的？",
        ),
        Text(
            en="Print the frequencies inside apply_rope and compare them with rope_frequencies(head_dim, theta).",
            zh="在 apply_rope 里打印频率，和 rope_frequencies(head_dim, theta) 比一比。",
        ),
        Text(
            en="apply_rope has three arguments. Follow the third to the place where it is used.",
            zh="apply_rope 有三个参数。跟着第三个参数，看它在哪里被用到。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7", "SpecForge#265", "vllm#9503", "airllm#369"),
)
