"""Keys are cached without rotation and in decode all rotated at the current position."""

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
        q = apply_rope(q, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        keys = apply_rope(keys, np.arange(start + length), model.config.rope_theta)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


def decode_step(model, token, cache):
    position = np.array([cache.length])
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        keys = apply_rope(keys, position, model.config.rope_theta)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="keys-cached-before-rope",
    part=4,
    summary=Text(
        en="a decode that rotates all cached keys at the position of the newest",
        zh="把 cache 里所有 key 都按最新位置旋转的 decode",
    ),
    explanation=Text(
        en=(
            "Keys are stored unrotated and rotated when they are read. In a decode step the "
            "position array holds a single number, so broadcasting turns every cached key to "
            "the position of the new token. All distances become 0 and the order of the text is "
            "lost. The prefill is right, and the logits are wrong from step 1 on."
        ),
        zh=(
            "key 存入时没有旋转，读出时才旋转。decode 时位置数组里只有一个数，广播之后，"
            "cache 里每个 key 都被转到新 token 的位置：所有距离都成了 0，"
            "文本的顺序丢失了。prefill 不受影响，从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Step 0 is right and step 1 is not, so the prefill is fine. What does decode_step do differently?",
            zh="第 0 步对、第 1 步错，说明 prefill 没问题。decode_step 哪里做得不一样？",
        ),
        Text(
            en="When do you rotate a key: before it is stored, or each time it is read? At which positions?",
            zh="你在什么时候旋转 key：存入之前，还是每次读出时？用的是哪些位置？",
        ),
        Text(
            en="A key's position never changes. Rotate only the new keys, at their own positions, and store the result.",
            zh="key 的位置永远不变。只旋转新的 key，用它自己的位置，然后把结果存起来。",
        ),
    ),
    replaces=(prefill, decode_step),
    cites=("L2 §2.7", "L2 §5.3"),
)
