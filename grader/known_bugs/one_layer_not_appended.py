"""The last layer stores nothing after the first prefill."""

import numpy as np

from solution.attention import causal_mask
from solution.gqa import grouped_query_attention
from solution.rope import apply_rope

from .bug import Bug, Text


class KVCache:
    @property
    def length(self):
        return self._lengths[0]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self.length}")
        self._lengths = [min(length, held) for held in self._lengths]


def prefill(model, tokens, cache):
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        if start == 0 or layer < model.config.n_layers - 1:
            keys, values = cache.append(layer, k, v)
        else:
            held = cache._lengths[layer]
            keys = np.concatenate([cache._keys[layer, :, :, :held], k], axis=2)
            values = np.concatenate([cache._values[layer, :, :, :held], v], axis=2)
        mask = causal_mask(length, keys.shape[2])
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])


BUG = Bug(
    name="one-layer-not-appended",
    part=4,
    summary=Text(
        en="a decode whose last layer keeps nothing but the prompt",
        zh="最后一层只保留提示的 decode",
    ),
    explanation=Text(
        en=(
            "All layers but the last append their new keys and values. The last one uses its "
            "new row once, in its own step, and does not keep it. Step 1 is right; from step 2 "
            "on the last layer misses the tokens decoded before, while all other layers see "
            "them."
        ),
        zh=(
            "除最后一层外，各层都追加了新的 key 和 value；最后一层的新行只在当前这一步用一次，"
            "没有保存。第 1 步是对的；从第 2 步起，最后一层缺少之前 decode 的 token，"
            "其他各层却都看得到。"
        ),
    ),
    hints=(
        Text(
            en="Print the number of keys that attention sees in each layer, for two decode steps in a row.",
            zh="连续做两步 decode，打印每一层注意力看到的 key 的个数。",
        ),
        Text(
            en="length is the number of positions that EVERY layer holds. Does one layer hold fewer than the others?",
            zh="length 是每一层都有的位置数。有没有哪一层比其他层少？",
        ),
        Text(
            en="Check the bounds of the loop or condition that appends: the last layer has number n_layers - 1.",
            zh="检查追加时循环或条件的边界：最后一层的编号是 n_layers - 1。",
        ),
    ),
    replaces=(KVCache, prefill),
    cites=("L2 §5.2",),
)
