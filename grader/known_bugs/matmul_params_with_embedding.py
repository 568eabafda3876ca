"""The embedding table is counted as a factor of a product."""

from .bug import Bug, Text


def matmul_params(config):
    attention = 2 * config.d_model * config.head_dim * (config.n_heads + config.n_kv_heads)
    layers = config.n_layers * (attention + 3 * config.d_model * config.d_ff)
    tables = 1 if config.tied else 2
    return layers + tables * config.vocab_size * config.d_model


BUG = Bug(
    name="matmul-params-with-embedding",
    part=8,
    summary=Text(
        en="a count of multiplied parameters that includes the embedding lookup",
        zh="把 embedding 查表也算成矩阵乘法的参数量",
    ),
    explanation=Text(
        en=(
            "The embedding of a token is a row that is looked up: no product, no FLOPs. Only on paper it "
            "is a one-hot vector times the table. Counting it makes 2 · matmul_params too large by the "
            "table; in Llama-3.1-8B that is 7 percent, in a small model far more."
        ),
        zh=(
            "一个 token 的 embedding 是查表取出的一行：没有乘法，没有 FLOPs。只有在纸面上它才"
            "是 one-hot 向量乘以词表。把它算进去，2 · matmul_params 就多出一张词表："
            "Llama-3.1-8B 里是 7%，小模型里多得多。"
        ),
    ),
    hints=(
        Text(
            en="Tied models are right, the others are too large by V · d. What has that size?",
            zh="共享的模型对，其余的都多出 V · d。什么东西是这个大小？",
        ),
        Text(
            en="Read `embed` in transformer.py. Is there a product in it?",
            zh="读一读 transformer.py 里的 `embed`。里面有矩阵乘法吗？",
        ),
        Text(
            en="Run a model and look at the names in `model.counter.matmuls`: which tables are among them?",
            zh="跑一遍模型，看看 `model.counter.matmuls` 里有哪些名字：有哪些词表？",
        ),
    ),
    replaces=(matmul_params,),
    cites=("L2 §1.8", "L2 §4.2"),
)
