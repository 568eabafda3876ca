"""A decode step attends to the prompt and to its own token, which it then forgets."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


def decode_step(model, token, cache):
    length = cache.length
    position = np.array([length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys = np.concatenate([cache._keys[layer, :, :, :length], k], axis=2)
        values = np.concatenate([cache._values[layer, :, :, :length], v], axis=2)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="append-forgotten-attends-itself",
    part=4,
    summary=Text(
        en="a decode that attends to the prompt and the newest token and forgets every token in between",
        zh="只关注提示和最新 token、忘掉其间所有 token 的 decode",
    ),
    explanation=Text(
        en=(
            "A decode step joins the new key and value to the cached ones for its own "
            "attention, but does not keep them. Step 1 is therefore right. From step 2 on the "
            "tokens decoded before are missing, and as cache.length stands still, every new "
            "token gets the same position."
        ),
        zh=(
            "decode 把新的 key、value 和 cache 里的拼在一起做注意力，但没有存回去，"
            "所以第 1 步是对的。从第 2 步起，之前 decode 的 token 都不见了；"
            "而且 cache.length 不变，每个新 token 的位置都一样。"
        ),
    ),
    hints=(
        Text(
            en="Step 1 is right and step 2 is not. What does step 2 need that step 1 did not?",
            zh="第 1 步对、第 2 步错。第 2 步需要什么，是第 1 步不需要的？",
        ),
        Text(
            en="Print cache.length, and how many keys attention sees, in three decode steps in a row.",
            zh="连续做三步 decode，打印 cache.length 和注意力看到的 key 的个数。",
        ),
        Text(
            en="Joining arrays makes a new array and leaves the cache as it was. The cache has to be told.",
            zh="拼接数组得到的是新数组，cache 本身没变。要明确地写进 cache。",
        ),
    ),
    replaces=(decode_step,),
    cites=("L2 §5.2",),
)
