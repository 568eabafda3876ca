"""The scores of hidden keys are set to 0 instead of -inf."""

import math

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores * mask
    return softmax(scores) @ v


BUG = Bug(
    name="mask-zero-instead-of-minus-inf",
    part=1,
    summary=Text(
        en="attention that multiplies the scores by the mask, giving hidden keys the score 0",
        zh="用分数乘以掩码、让被掩码的 key 得到分数 0 的 attention",
    ),
    explanation=Text(
        en=(
            "Multiplying by the mask sets hidden scores to 0, and a score of 0 is a perfectly good "
            "score: its exponential is 1, more than that of every negative score. The hidden keys "
            "therefore keep a share of the weight, and information about later tokens leaks. To get "
            "weight 0 the score has to be -inf."
        ),
        zh=(
            "乘以掩码会把被掩码的分数变成 0，而 0 是完全正常的分数：它的指数是 1，比所有负分数的指数都大。"
            "被掩码的 key 因此仍然分到权重，后面 token 的信息就泄漏了。要让权重为 0，"
            "分数必须是 -inf。"
        ),
    ),
    hints=(
        Text(
            en="Print the weights of the first row under a causal mask. Are the hidden ones 0?",
            zh="打印因果掩码下第一行的权重。被掩码的那些是 0 吗？",
        ),
        Text(
            en="What is the exponential of 0? And what must the exponential of a hidden score be?",
            zh="0 的指数是多少？被掩码的分数，指数应该是多少？",
        ),
        Text(
            en="A hidden key needs the score whose exponential is 0. Choose between two values by the mask; do not multiply.",
            zh="被掩码的 key 需要一个指数为 0 的分数。按掩码在两个值之间选择，不要用乘法。",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.5", "D3 因果掩码", "good-features#1", "gluonts#1401"),
)
