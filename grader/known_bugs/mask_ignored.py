"""scaled_dot_product_attention does not use its mask."""

import math

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(scores) @ v


BUG = Bug(
    name="mask-ignored",
    part=1,
    summary=Text(
        en="attention that ignores its mask, so that every query sees every key",
        zh="不理会掩码、每个 query 都看得到所有 key 的 attention",
    ),
    explanation=Text(
        en=(
            "The mask is accepted and never used, so every token also sees the later ones. A single "
            "query that may see everything is right, so decode steps look fine; any prefill is wrong, "
            "and the keys and values it caches from the second layer on are those of a bidirectional "
            "model."
        ),
        zh=(
            "掩码收下了，却没有用，于是每个 token 也看得到后面的 token。"
            "只有一个、本来就能看全部的 query 是对的，所以 decode 一步看起来正常；"
            "但 prefill 全错，而且从第二层起，"
            "写进 cache 的 key 和 value 都是双向模型的。"
        ),
    ),
    hints=(
        Text(
            en="Without a mask you are right. Which argument of the function did you not use?",
            zh="没有掩码时是对的。函数的哪个参数你没有用到？",
        ),
        Text(
            en="Call it with the mask of D3 and with None. The results should differ; do they?",
            zh="分别用 D3 的掩码和 None 调用。结果应该不同；你的呢？",
        ),
        Text(
            en="Before the softmax, the score of every key that may not be seen has to be replaced.",
            zh="在 softmax 之前，凡是不能看的 key，分数都要替换掉。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.5", "D3 因果掩码"),
)
