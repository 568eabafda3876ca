"""softmax always runs along the last axis."""

import numpy as np

from .bug import Bug, Text


def softmax(x, axis=-1):
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


BUG = Bug(
    name="softmax-ignores-axis",
    part=1,
    summary=Text(
        en="a softmax that runs along the last axis whatever axis it is given",
        zh="不管传入哪个 axis、总是沿最后一个轴计算的 softmax",
    ),
    explanation=Text(
        en=(
            "The argument axis is accepted and never used. Attention only needs the last axis, so "
            "everything else works and only a call with another axis shows the mistake: the shape is "
            "right and the weights sum to 1 along the wrong axis."
        ),
        zh=(
            "参数 axis 收下了，却没有用。attention 只用最后一个轴，所以别处都正常，"
            "只有用别的 axis 调用时才看得出来：形状对，但权重是沿错误的轴加起来等于 1。"
        ),
    ),
    hints=(
        Text(
            en="Every softmax along the last axis is right. Which argument of the function did you not use?",
            zh="沿最后一个轴的 softmax 都对。函数的哪个参数你没有用到？",
        ),
        Text(
            en="Sum your result along the axis of the failing test. Is every sum 1?",
            zh="把结果沿失败测试里的那个轴求和。每个和都是 1 吗？",
        ),
        Text(
            en="The maximum and the sum are both taken along an axis; both have to follow the argument.",
            zh="求最大值和求和都要指定轴；两处都要跟着参数走。",
        ),
    ),
    replaces=(softmax,),
    cites=("D3 语言模型只做一件事",),
)
