"""A token also sees the next one."""

import numpy as np

from .bug import Bug, Text


def causal_mask(query_len, key_len):
    query_positions = np.arange(key_len - query_len, key_len)
    return np.arange(key_len) <= query_positions[:, None] + 1


BUG = Bug(
    name="mask-off-by-one",
    part=2,
    summary=Text(
        en="a causal mask that lets every token see the next one as well",
        zh="让每个 token 多看到后面一个 token 的因果掩码",
    ),
    explanation=Text(
        en=(
            "The triangle is one diagonal too wide. Every position but the last sees one token ahead, "
            "the very token it is to predict, so a model trained with this mask cheats and one that "
            "runs with it computes something that no decode step can repeat. The last query has nothing "
            "ahead of it, so decode steps of one token are right and only a prefill shows the leak."
        ),
        zh=(
            "三角形多了一条对角线。除最后一个位置外，每个位置都多看到一个 token，恰好是它要预测的那个："
            "用这种掩码训练等于作弊，用它推理，算出来的东西任何 decode 都重现不了。"
            "最后一个 query 后面没有东西，所以单个 token 的 decode 是对的，"
            "只有 prefill 会暴露泄漏。"
        ),
    ),
    hints=(
        Text(
            en="The last row is right, the others admit one key too many. Which one?",
            zh="最后一行对，其他行都多放行了一个 key。是哪一个？",
        ),
        Text(
            en="Change token j and look at the output at j - 1. It should stay the same to the bit.",
            zh="改动第 j 个 token，看位置 j - 1 的输出。它应该一位都不变。",
        ),
        Text(
            en="The diagonal is the last thing a token may see. Check the offset you add to it.",
            zh="对角线就是一个 token 能看到的最后一个位置。检查你给它加了多少偏移。",
        ),
    ),
    replaces=(causal_mask,),
    cites=("L2 §2.5", "D3 因果掩码"),
)
