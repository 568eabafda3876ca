"""W_k and W_v are counted as wide as W_q."""

from .bug import Bug, Text


def n_params(config):
    matrices, d = matmul_params(config), config.d_model
    table = config.vocab_size * d
    return matrices + (2 * config.n_layers + 1) * d + (0 if config.tied else table)


def matmul_params(config):
    attention = 4 * config.d_model * config.n_heads * config.head_dim
    mlp = 3 * config.d_model * config.d_ff
    return config.n_layers * (attention + mlp) + config.d_model * config.vocab_size


BUG = Bug(
    name="params-query-heads-for-keys",
    part=8,
    summary=Text(
        en="a count of parameters that gives K and V as many heads as the queries have",
        zh="给 K、V 算了和 query 一样多的头的参数量",
    ),
    explanation=Text(
        en=(
            "All four matrices of attention are taken for squares, as in D3's Llama-2-7B. With grouped "
            "queries, W_k and W_v make G heads and not H: in Llama-3.1-8B they are a quarter as wide as "
            "W_q. Models with G = H come out right, so the mistake shows only where GQA saves something."
        ),
        zh=(
            "注意力的四个矩阵都当成了方阵，像 D3 里的 Llama-2-7B 那样。用了分组查询之后，W_k 和"
            " W_v 只产生 G 个头，不是 H 个：Llama-3.1-8B 里它们的宽度只有 W_q 的四分之一。"
            "G = H 的模型算出来是对的，只有 GQA 真的省了的地方才露馅。"
        ),
    ),
    hints=(
        Text(
            en="Llama-2-7B is right and Llama-3.1-8B is not. In which number of their configs do they differ in kind?",
            zh="Llama-2-7B 对，Llama-3.1-8B 不对。它们的 config 里，哪个数性质不同？",
        ),
        Text(
            en="Which of the four matrices of attention make queries, and which make what is cached?",
            zh="注意力的四个矩阵里，哪些产生 query，哪些产生要缓存的东西？",
        ),
        Text(
            en="Print the shapes in `model.params` of a model with G < H: how wide is w_k?",
            zh="取一个 G < H 的模型，打印 `model.params` 里的形状：w_k 有多宽？",
        ),
    ),
    replaces=(n_params, matmul_params),
    cites=("L2 §4.2", "L2 §6.2", "D3 GQA"),
)
