"""lm_head is counted although it is the embedding table."""

from .bug import Bug, Text


def n_params(config):
    attention = 2 * config.d_model * config.head_dim * (config.n_heads + config.n_kv_heads)
    layer = attention + 3 * config.d_model * config.d_ff + 2 * config.d_model
    return 2 * config.vocab_size * config.d_model + config.n_layers * layer + config.d_model


BUG = Bug(
    name="params-tied-counted-twice",
    part=8,
    summary=Text(
        en="a count of parameters that counts a tied table twice",
        zh="把共享的词表算了两次的参数量",
    ),
    explanation=Text(
        en=(
            "With `tied`, lm_head is the embedding table, transposed: the numbers are there once and "
            "used twice. Here they are counted once for each use. For a small model that is a lot: of "
            "SmolLM2-135M's parameters a fifth is its table. L2 §4.1 names this among the three mistakes "
            "of such formulas."
        ),
        zh=(
            "`tied` 为真时，lm_head 就是转置的 embedding 表：数只存一份，用两次。这里用一次"
            "算一份。对小模型来说这不是小数目：SmolLM2-135M 的参数有五分之一是词表。L2 §4.1 把它"
            "列为这类公式最常犯的三个错误之一。"
        ),
    ),
    hints=(
        Text(
            en="Models with tied=False are right. What is there once less in a tied model?",
            zh="tied=False 的模型都对。共享之后，什么东西少了一份？",
        ),
        Text(
            en="Look for lm_head in `model.params` of a tied model.",
            zh="在共享的模型的 `model.params` 里找一找 lm_head。",
        ),
        Text(
            en="What you have too much is V · d. Where in the formula should `tied` decide?",
            zh="你多出了 V · d。公式里哪一项应该由 `tied` 决定？",
        ),
    ),
    replaces=(n_params,),
    cites=("L2 §1.8", "L2 §4.1"),
)
