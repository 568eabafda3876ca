"""The attention of prefill has no causal mask."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="mask-missing-in-prefill",
    part=4,
    summary=Text(
        en="a prefill without a causal mask",
        zh="没有因果掩码的 prefill",
    ),
    explanation=Text(
        en=(
            "A decode step has one query, the newest, and may see everything: there no mask "
            "is needed. A prefill of several tokens needs one, or every prompt token also "
            "sees those after it. The keys and values of all layers above the first are "
            "computed from such positions, so the cache is spoiled and every decode step "
            "that reads it is wrong as well."
        ),
        zh=(
            "decode 一步只有一个 query，就是最新的那个，本来就能看全部，不需要掩码。prefill 一次有多个 token，"
            "没有掩码，提示里的每个 token 就会看到它后面的 token。第二层起的 key 和 value 都由这样的位置算出，"
            "于是 cache 里的内容也是错的，之后读它的每一步 decode 都跟着错。"
        ),
    ),
    hints=(
        Text(
            en="A prompt of one token is right and a longer one is not. What can a token of a longer prompt see?",
            zh="提示只有一个 token 时对，长一点就错。较长的提示里，一个 token 能看到谁？",
        ),
        Text(
            en="Prefill the same tokens one at a time. Why does the result change?",
            zh="把同样的 token 一个一个地 prefill，为什么结果变了？",
        ),
        Text(
            en="The attention function has an argument for who may attend to whom. What do you pass?",
            zh="注意力函数有一个参数说明谁能看谁，你传了什么？",
        ),
    ),
    replaces=(prefill,),
    cites=("L2 §2.5", "L2 §5.2", "TinyLLM#17", "mlxcel#999"),
)
