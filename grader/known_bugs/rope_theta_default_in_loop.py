"""The rotation always uses theta = 10000."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions)
        k = apply_rope(k, positions)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="rope-theta-default-in-loop",
    part=4,
    summary=Text(
        en="a prefill and decode that rotate with theta = 10000 whatever the config says",
        zh="不管 config 怎么写、总用 theta = 10000 旋转的 prefill 和 decode",
    ),
    explanation=Text(
        en=(
            "apply_rope has a default theta, and the loop never passes the one of the "
            "model's config. The model was trained with other frequencies, so every relative "
            "position is read wrongly. Models whose theta is 10000 are right, which is how "
            "it gets through; Llama 3 has 500000. In a real model short prompts still look "
            "sensible, and long ones fall apart."
        ),
        zh=(
            "apply_rope 的 theta 有默认值，而循环里没有把模型 config 里的 theta 传进去。"
            "模型是用别的频率训练的，所有相对位置都读错了。theta 恰好是 10000 的模型没有问题，所以容易漏掉；"
            "Llama 3 用的是 500000。真实模型里，短提示看上去还正常，长提示就散了。"
        ),
    ),
    hints=(
        Text(
            en="Part 3 is right, and a prompt of one token is right. What does the loop tell apply_rope about the model?",
            zh="第 3 部分是对的，只有一个 token 的提示也对。循环告诉了 apply_rope 关于模型的什么？",
        ),
        Text(
            en="Print theta inside apply_rope while the model runs, and compare it with the config.",
            zh="模型运行时在 apply_rope 里打印 theta，和 config 比较。",
        ),
        Text(
            en="A default value is used whenever the argument is left out. Which argument do you leave out?",
            zh="参数不写就会用默认值。你漏写了哪个参数？",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.7", "airllm#369", "vllm#9503"),
)
