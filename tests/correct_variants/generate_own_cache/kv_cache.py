"""generate uses another cache than the one that is graded, and prefill takes any of them."""

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.kv = np.empty((n_layers, 2, batch_size, n_kv_heads, max_len, head_dim), dtype)
        self.lengths = [0] * n_layers

    @property
    def length(self):
        return min(self.lengths)

    def append(self, layer, k, v):
        n = self.lengths[layer] + k.shape[2]
        if n > self.kv.shape[4]:
            raise ValueError("it does not fit")
        self.kv[layer, :, :, :, n - k.shape[2] : n] = np.stack([k, v])
        self.lengths[layer] = n
        return tuple(self.kv[layer, :, :, :, :n])

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("it does not hold so many")
        self.lengths = [length] * len(self.lengths)


class GrowingCache(list):
    """One (keys, values) a layer; no max_len, because generate knows when to stop."""

    @property
    def length(self):
        return self[-1][0].shape[2] if self else 0

    def append(self, layer, k, v):
        if layer == len(self):
            super().append((k, v))
        else:
            pairs = zip(self[layer], (k, v), strict=True)
            self[layer] = tuple(np.concatenate(pair, axis=2) for pair in pairs)
        return self[layer]


def forward(model, tokens, cache, every_position=False):
    theta = model.config.rope_theta
    seen, n = cache.length, tokens.shape[1]
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q, k = (apply_rope(a, np.arange(seen, seen + n), theta) for a in (q, k))
        heads = grouped_query_attention(q, *cache.append(layer, k, v), causal_mask(n, seen + n))
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return model.logits(x if every_position else x[:, -1])


def prefill(model, tokens, cache):
    return forward(model, tokens, cache)


def decode_step(model, token, cache):
    return forward(model, np.expand_dims(token, 1), cache)


def greedy(model, prompt):
    """Tokens (B,) for ever, one decode step each."""
    cache = GrowingCache()
    token = forward(model, prompt, cache).argmax(axis=-1)
    while True:
        yield token
        token = forward(model, token[:, None], cache).argmax(axis=-1)


def generate(model, prompt, max_new_tokens, eos=None, *, on_token=None):
    rows = [[] for _ in prompt]
    for _, token in zip(range(max_new_tokens), greedy(model, prompt), strict=False):
        for row, new in zip(rows, token.tolist(), strict=True):
            row.append(eos if eos is not None and eos in row else new)
        if on_token is not None:
            on_token(token)
        if eos is not None and all(eos in row for row in rows):
            break
    return np.array(rows)
