"""The causal mask is True where a key is hidden."""

import numpy as np

from .bug import Bug, Text


def causal_mask(query_len, key_len):
    return np.triu(np.ones((query_len, key_len), dtype=bool), k=key_len - query_len + 1)


BUG = Bug(
    name="mask-marks-hidden",
    part=2,
    summary=Text(
        en="a causal mask that is True where a key is hidden, the opposite of what is asked",
        zh="用 True 标记不可见位置的因果掩码，与要求正好相反",
    ),
    explanation=Text(
        en=(
            "This is D3's own mask: True stands above the diagonal, where the later tokens are, and the "
            "score there is then set to -inf. Here True means may attend, so the same array admits "
            "exactly what it should hide. The last row admits nothing, its scores are all -inf, and the "
            "outputs of the last position, and of every decode step that passes a mask, are NaN."
        ),
        zh=(
            "这正是 D3 的写法：对角线以上，也就是后面的 token，标为 True，"
            "再把这些分数设成 -inf。但这里 True 表示可以看，同一个数组放行的恰好是该挡住的。"
            "最后一行一个都不放行，分数全是 -inf，于是最后一个位置的输出，以及每一步带掩码的 decode，"
            "都是 NaN。"
        ),
    ),
    hints=(
        Text(
            en="Every entry of your mask is wrong. What does True mean in this homework?",
            zh="你的掩码每一项都是错的。在这份作业里，True 表示什么？",
        ),
        Text(
            en="Print causal_mask(1, 6): the newest token must see all six keys.",
            zh="打印 causal_mask(1, 6)：最新的 token 应该看到全部六个 key。",
        ),
        Text(
            en="Rule 3 of the handout: True means may attend. D3's numpy code has it the other way round.",
            zh="作业说明的规则 3：True 表示可以看。D3 的 numpy 代码正好相反。",
        ),
    ),
    replaces=(causal_mask,),
    cites=("L2 §2.5", "D3 把整张注意力矩阵算完", "LLMs-from-scratch#1061"),
)
