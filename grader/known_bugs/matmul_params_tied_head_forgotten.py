"""A tied lm_head is left out of the products."""

from .bug import Bug, Text


def matmul_params(config):
    attention = 2 * config.d_model * config.head_dim * (config.n_heads + config.n_kv_heads)
    layers = config.n_layers * (attention + 3 * config.d_model * config.d_ff)
    return layers + (0 if config.tied else config.d_model * config.vocab_size)


BUG = Bug(
    name="matmul-params-tied-head-forgotten",
    part=8,
    summary=Text(
        en="a count of multiplied parameters that leaves a tied lm_head out",
        zh="漏了共享的 lm_head 的矩阵乘法参数量",
    ),
    explanation=Text(
        en=(
            "A tied model holds no second table, but it multiplies by the one it has: every token's last "
            "vector goes through V · d numbers to become logits. Parameters are counted by what is "
            "stored, FLOPs and bytes of a step by what is used."
        ),
        zh=(
            "共享的模型没有第二张词表，但要乘以仅有的那一张：每个 token 最后的向量都要经过 V · d 个数变"
            "成 logits。数参数看的是存了什么，数一步的 FLOPs 和字节看的是用了什么。"
        ),
    ),
    hints=(
        Text(
            en="Models with tied=True come out too small. What do they still do at the very end?",
            zh="tied=True 的模型算少了。它们在最后一步仍然要做什么？",
        ),
        Text(
            en="Read `logits` in transformer.py: what is `w` in a tied model?",
            zh="读一读 transformer.py 里的 `logits`：共享的模型里 `w` 是什么？",
        ),
        Text(
            en="Does whether two arrays are one in memory change how many numbers a token is multiplied by?",
            zh="两个数组在内存里是不是同一个，会改变一个 token 要乘的数的个数吗？",
        ),
    ),
    replaces=(matmul_params,),
    cites=("L2 §1.8", "L2 §4.1"),
)
