"""Entry i is paired with entry i + d_h / 2."""

import numpy as np

from solution.rope import rope_frequencies

from .bug import Bug, Text


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        batch, length, n_pairs = angles.shape
        angles = angles.reshape(batch, *(1,) * (x.ndim - 3), length, n_pairs)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


BUG = Bug(
    name="rope-halves",
    part=3,
    summary=Text(
        en="a RoPE that pairs entry i with entry i + d_h / 2 instead of neighbours",
        zh="把第 i 个数和第 i + d_h / 2 个数配对、而不是相邻配对的 RoPE",
    ),
    explanation=Text(
        en=(
            "The vector is cut into halves and entry i turns together with entry i + d_h / 2. Hugging "
            "Face's Llama does that, with the rows of W_q and W_k permuted to match. It is a rotation "
            "too, keeps lengths and depends on differences of positions only, so a model that was "
            "trained this way is fine. With weights made for neighbouring pairs it turns the wrong "
            "numbers together."
        ),
        zh=(
            "向量被切成前后两半，第 i 个数和第 i + d_h / 2 个数一起旋转。"
            "Hugging Face 的 Llama 就是这样做的，"
            "但它的 W_q 和 W_k 也做了相应的重排。这同样是旋转，长度不变，点积也只依赖位置差，"
            "所以用这种方式训练的模型没有问题。但如果权重是按相邻配对做的，被转到一起的就不是该配对的数。"
        ),
    ),
    hints=(
        Text(
            en="Lengths and relative positions are right, the numbers are not. Which two entries turn together in your code?",
            zh="长度和相对位置的性质都对，数值不对。你的代码里，哪两个数是一起旋转的？",
        ),
        Text(
            en="Rotate [1, 0, 0, 0] at position 1. Which two entries of the result are not 0?",
            zh="把 [1, 0, 0, 0] 放在位置 1 旋转。结果里哪两个数不为 0？",
        ),
        Text(
            en="Pair i consists of the entries 2i and 2i + 1, as in the paper.",
            zh="第 i 对由第 2i 和第 2i + 1 个数组成，和论文一致。",
        ),
    ),
    replaces=(apply_rope,),
    cites=("L2 §2.7", "vllm#941", "gpt-neox#834"),
)
