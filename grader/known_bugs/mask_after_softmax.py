"""The mask is applied to the weights, after the softmax."""

import math

import numpy as np

from solution.attention import softmax

from .bug import Bug, Text


def scaled_dot_product_attention(q, k, v, mask=None):
    weights = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]))
    if mask is not None:
        weights = np.where(mask, weights, 0)
    return weights @ v


BUG = Bug(
    name="mask-after-softmax",
    part=1,
    summary=Text(
        en="attention that zeroes the hidden weights after the softmax",
        zh="在 softmax 之后才把被掩码的权重置零的 attention",
    ),
    explanation=Text(
        en=(
            "The softmax distributes the weight over all keys, the hidden ones included, and what they "
            "received is then thrown away. The remaining weights sum to less than 1, the outputs are "
            "too small, and they still depend on the hidden keys through the denominator. Rows that see "
            "every key are right, so a decode step looks fine."
        ),
        zh=(
            "softmax 先把权重分给了所有 key，包括不该看的，然后再把那部分扔掉。"
            "剩下的权重加起来小于 1，输出偏小，而且通过分母仍然依赖被掩码的 key。"
            "能看到全部 key 的行是对的，所以 decode 一步看起来没有问题。"
        ),
    ),
    hints=(
        Text(
            en="The last row, which sees every key, is right. What do the weights of the first row sum to?",
            zh="能看到全部 key 的最后一行是对的。第一行的权重加起来是多少？",
        ),
        Text(
            en="A token that sees only itself must return its own value, unchanged. Does it?",
            zh="只能看自己的 token 应该原样返回自己的 value。你的结果是这样吗？",
        ),
        Text(
            en="The hidden keys must be out before the denominator is computed. What score has the exponential 0?",
            zh="被掩码的 key 必须在计算分母之前就排除。什么分数的指数是 0？",
        ),
    ),
    replaces=(scaled_dot_product_attention,),
    cites=("L2 §2.5", "D3 因果掩码", "pytorch-image-models#2236"),
)
