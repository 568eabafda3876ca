"""In decode, attention leaves out the oldest position."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    position = np.array([cache.length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys[:, :, 1:], values[:, :, 1:])
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="oldest-dropped",
    part=4,
    summary=Text(
        en="a decode that no longer sees position 0",
        zh="不再看位置 0 的 decode",
    ),
    explanation=Text(
        en=(
            "Everything is stored, but a decode step attends to the cache from index 1 on, like "
            "a sliding window that is one too short. The first token of the prompt is lost for "
            "all decoded tokens. The prefill is right, and the logits are wrong from step 1 on; "
            "with a longer prompt the error becomes small and is easily taken for rounding."
        ),
        zh=(
            "内容都存了，但 decode 的注意力从 cache 的下标 1 开始看，"
            "就像少了一格的滑动窗口。"
            "提示的第一个 token 对所有 decode 的 token 都不可见。"
            "prefill 不受影响，从第 1 步起 logits 就错了；提示越长误差越小，"
            "容易被误认为舍入误差。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="Print how many keys attention sees in the first decode step after a prompt of 7 tokens.",
            zh="提示有 7 个 token 时，打印第一步 decode 的注意力看到多少个 key。",
        ),
        Text(
            en="It should be all 8, from index 0 on. Nothing makes room for the new token: the cache grows.",
            zh="应该是全部 8 个，从下标 0 开始。不必为新 token 腾位置，cache 会变长。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.2", "mlx-lm#390", "transformers#26792", "transformers#37574"),
)
