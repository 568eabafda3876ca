"""One matrix is counted for K and V together."""

from .bug import Bug, Text


def n_params(config):
    matrices, d = matmul_params(config), config.d_model
    table = config.vocab_size * d
    return matrices + (2 * config.n_layers + 1) * d + (0 if config.tied else table)


def matmul_params(config):
    widths = 2 * config.n_heads + config.n_kv_heads
    attention = config.d_model * widths * config.head_dim
    mlp = 3 * config.d_model * config.d_ff
    return config.n_layers * (attention + mlp) + config.d_model * config.vocab_size


BUG = Bug(
    name="params-keys-and-values-once",
    part=8,
    summary=Text(
        en="a count of parameters with one matrix for K and V together",
        zh="把 K、V 合起来只算一个矩阵的参数量",
    ),
    explanation=Text(
        en=(
            "Attention has four matrices, W_q, W_k, W_v and W_o; here W_k and W_v are counted as one. "
            "Keys and values are different things made by different matrices of the same shape. With "
            "grouped queries the error is small, a few percent and less, because K and V are narrow "
            "there."
        ),
        zh=(
            "注意力有四个矩阵：W_q、W_k、W_v、W_o；这里把 W_k 和 W_v 算成了一个。key 和"
            " value 是两样东西，由形状相同的两个矩阵产生。用了分组查询时误差不大，百分之几甚至更小，因为那里的"
            " K、V 本来就窄。"
        ),
    ),
    hints=(
        Text(
            en="Count the matrices of one layer: four of attention and three of the MLP. Are there seven in your sum?",
            zh="数一数一层有几个矩阵：注意力四个，MLP 三个。你加了七个吗？",
        ),
        Text(
            en="In the handout's small model, attention has 40,960 numbers a layer: 128·128 + 128·32 + 128·32 + 128·128.",
            zh="小模型每层注意力有 40,960 个数：128·128 + 128·32 + 128·32 + 128·128。",
        ),
        Text(
            en="What is missing is d · G · d_h a layer. Which matrix has that shape, and how many of them are there?",
            zh="每层少了 d · G · d_h。哪个矩阵是这个形状？这样的矩阵有几个？",
        ),
    ),
    replaces=(n_params, matmul_params),
    cites=("L2 §4.1", "L2 §4.2"),
)
