"""True in the mask is read as hidden."""

import math

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, -np.inf, scores)
    return softmax(scores) @ v


BUG = Bug(
    name="mask-inverted",
    part=1,
    summary=Text(
        en="attention that hides the keys where the mask is True",
        zh="把掩码为 True 的 key 当作不可见的 attention",
    ),
    explanation=Text(
        en=(
            "The mask is read the other way round: True hides a key instead of admitting it. That is "
            "the convention of D3's code and of some libraries, but here True means may attend. Under a "
            "causal mask each token then sees only later ones, and a row that may see every key has no "
            "score left, so that its outputs are NaN."
        ),
        zh=(
            "掩码的含义读反了：True 被当成“不能看”，而不是“可以看”。D3 的代码和一些库是这样约定的，"
            "但这里 True 表示可以看。在因果掩码下，每个 token 只看得到后面的 token；"
            "本来能看全部 key 的那一行一个分数都不剩，输出就是 NaN。"
        ),
    ),
    hints=(
        Text(
            en="Without a mask you are right, with one you are not, and rows that may see everything become NaN.",
            zh="没有掩码时是对的，有掩码就错，而且本来能看全部 key 的行变成了 NaN。",
        ),
        Text(
            en="Pass a mask that is True everywhere. It should change nothing.",
            zh="传一个全为 True 的掩码。结果应该和不传掩码一样。",
        ),
        Text(
            en="True means may attend (rule 3 of the handout). D3's code marks with True what is hidden.",
            zh="True 表示可以看（作业说明的规则 3）。D3 的代码用 True 标记的是不能看的位置。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.5", "D3 把整张注意力矩阵算完", "pytorch#170404"),
)
