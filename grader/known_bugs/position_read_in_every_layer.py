"""The position is read again in every layer, from a length that layer 0 has already moved."""

import numpy as np

from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


class KVCache:
    @property
    def length(self):
        return self._lengths[0]


def decode_step(model, token, cache):
    x = model.embed(token[:, None])
    for layer in range(model.config.n_layers):
        position = np.array([cache.length])
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, position, model.config.rope_theta)
        k = apply_rope(k, position, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="position-read-in-every-layer",
    part=4,
    summary=Text(
        en="a decode whose layers above the first rotate the new token one position too far",
        zh="第一层以上各层都把新 token 的位置多算 1 的 decode",
    ),
    explanation=Text(
        en=(
            "length counts the positions of layer 0, and the position is read inside the loop "
            "over layers. In layer 0 it is right; then layer 0 appends, the length grows, and "
            "all layers above rotate the new token one position too far. The prefill reads it "
            "once and is right; the logits are wrong from step 1 on."
        ),
        zh=(
            "length 数的是第 0 层的位置数，而位置又是在层循环里读取的。第 0 层读到的是对的；"
            "它追加之后 length 变大，上面各层就都把新 token 的位置多算了 1。"
            "prefill 只读一次，所以是对的；从第 1 步起 logits 就错了。"
        ),
    ),
    hints=(
        Text(
            en="Print the position in each layer of one decode step.",
            zh="在一步 decode 里，打印每一层用的位置。",
        ),
        Text(
            en="length counts what EVERY layer holds. What should it say after layer 0 has appended and layer 1 has not?",
            zh="length 数的是每一层都有的位置。第 0 层已追加、第 1 层还没有时，它应该是多少？",
        ),
        Text(
            en="A token has one position in all layers: read it once, before the loop.",
            zh="一个 token 在所有层里位置相同：在循环之前读一次。",
        ),
    ),
    replaces=(KVCache, decode_step),
    cites=("L2 §5.3", "flash-linear-attention#766"),
)
