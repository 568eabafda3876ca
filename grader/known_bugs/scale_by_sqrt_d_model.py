"""The scores of all heads are divided by sqrt(d_model)."""

import math

import numpy as np

from solution.attention import causal_mask, merge_heads, softmax, split_heads

from .bug import Bug, Text


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    length = x.shape[1]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(x.shape[-1])
    scores = np.where(causal_mask(length, length), scores, -np.inf)
    return merge_heads(softmax(scores) @ v) @ w_o


BUG = Bug(
    name="scale-by-sqrt-d-model",
    part=2,
    summary=Text(
        en="multi-head attention whose scores are divided by sqrt(d), the width of the whole model",
        zh="分数除以 sqrt(d)（整个模型的宽度）的多头 attention",
    ),
    explanation=Text(
        en=(
            "Attention is written out a second time inside multi_head_attention, and the width under "
            "the root is that of x. But the dot product of a head has d_h terms, not d. The scores are "
            "too small by sqrt(d / d_h), which is sqrt(H) in most models, and the weights of every head "
            "are too flat. Position 0 sees only itself and stays right."
        ),
        zh=(
            "在 multi_head_attention 里又写了一遍 attention，"
            "根号里用的是 x 的宽度。可是一个头的点积只有 d_h 项，不是 d 项。"
            "分数小了 sqrt(d / d_h) 倍（多数模型里就是 sqrt(H) 倍），"
            "每个头的权重都过于平均。位置 0 只看自己，所以仍然是对的。"
        ),
    ),
    hints=(
        Text(
            en="Position 0 is right and the others are not. A token that sees only itself does not depend on the scores.",
            zh="位置 0 对，其余都错。只看自己的 token，结果与分数无关。",
        ),
        Text(
            en="Print the scores of one head and divide them by its plain dot products. Which factor do you see?",
            zh="打印一个头的分数，除以它原始的点积。得到的因子是多少？",
        ),
        Text(
            en="How many products are summed in one dot product of one head? The root belongs to that number.",
            zh="一个头的一次点积里有多少项相加？根号里应该是这个数。",
        ),
    ),
    replaces=(multi_head_attention,),
    cites=(
        "L2 §2.4",
        "L2 §2.6",
        "vit-pytorch#65",
        "DL4Proteins-notebooks#12",
        "train-llm-from-scratch#3",
    ),
)
