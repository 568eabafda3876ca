"""The newest position lies first in memory; append hands out a read-only view, backwards."""

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.max_len = max_len
        self.store = np.zeros((2, n_layers, head_dim, max_len, n_kv_heads, batch_size), dtype)
        self.used = np.zeros(n_layers, dtype=np.uint16)

    @property
    def length(self):
        return self.used.min()

    def append(self, layer, k, v):
        old = int(self.used[layer])
        new = old + k.shape[2]
        if new > self.max_len:
            raise ValueError("no room left")
        out = []
        for store, x in zip(self.store, (k, v), strict=True):
            held = self._view(store[layer])
            held[:, :, old:new] = x
            view = held[:, :, :new]
            view.flags.writeable = False
            out.append(view)
        self.used[layer] = new
        return tuple(out)

    def _view(self, store):
        """(d_h, max_len, G, B), newest first -> (B, G, max_len, d_h), oldest first."""
        return store.transpose(3, 2, 1, 0)[:, :, ::-1]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("not that many positions here")
        self.used[:] = length


def prefill(model, tokens, cache):
    past = int(cache.length)
    n = tokens.shape[1]
    positions = np.arange(past, past + n)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        heads = grouped_query_attention(q, *cache.append(layer, k, v), causal_mask(n, past + n))
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return np.asfortranarray(model.logits(x[:, -1]))


def decode_step(model, token, cache):
    return prefill(model, token[:, None], cache)


def generate(model, prompt, max_new_tokens, eos=None):
    c = model.config
    batch, n = prompt.shape
    cache = KVCache(c.n_layers, batch, c.n_kv_heads, n + max_new_tokens, c.head_dim, model.dtype)
    tokens = np.empty((max_new_tokens, batch), dtype=np.int64)
    done = np.zeros(batch, dtype=bool)
    for i in range(max_new_tokens):
        logits = (
            prefill(model, prompt, cache) if i == 0 else decode_step(model, tokens[i - 1], cache)
        )
        tokens[i] = logits.argmax(axis=-1)
        if eos is not None:
            tokens[i][done] = eos
            done |= tokens[i] == eos
        if done.all():
            return tokens[: i + 1].T
    return tokens.T
