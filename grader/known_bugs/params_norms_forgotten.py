"""The weights of the norms are not counted."""

from .bug import Bug, Text


def n_params(config):
    attention = 2 * config.d_model * config.head_dim * (config.n_heads + config.n_kv_heads)
    layers = config.n_layers * (attention + 3 * config.d_model * config.d_ff)
    tables = 1 if config.tied else 2
    return layers + tables * config.vocab_size * config.d_model


BUG = Bug(
    name="params-norms-forgotten",
    part=8,
    summary=Text(
        en="a count of parameters without the weights of the norms",
        zh="漏了归一化权重的参数量",
    ),
    explanation=Text(
        en=(
            "RMSNorm has a weight for each of the d numbers it scales: two norms a layer and one at the "
            "end. That is (2L + 1)d numbers, so few that a rounded figure hides them: 266,240 of the 8 "
            "billion parameters of Llama-3.1-8B. They take part in no matrix product, but they are "
            "parameters."
        ),
        zh=(
            "RMSNorm 对它缩放的 d 个数各有一个权重：每层两个归一化，最后还有一个。一共"
            " (2L + 1)d 个数，少到四舍五入就看不见：Llama-3.1-8B 的 80 亿参数里只占"
            " 266,240 个。它们不参与矩阵乘法，但也是参数。"
        ),
    ),
    hints=(
        Text(
            en="You are too low by a very small part. What in the model has so few numbers?",
            zh="你少了很小的一点。模型里什么东西只有这么少的数？",
        ),
        Text(
            en="Divide what is missing by d. Which things are there 2L + 1 of?",
            zh="把少掉的除以 d。什么东西有 2L + 1 个？",
        ),
        Text(
            en="Go through `model.params` name by name, and look for arrays with a single axis.",
            zh="把 `model.params` 逐个名字过一遍，找出只有一维的数组。",
        ),
    ),
    replaces=(n_params,),
    cites=("L2 §4.1", "L2 §4.2"),
)
