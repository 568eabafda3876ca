"""The other way round: decode_step is the real thing, and prefill calls it for every token."""

import numpy as np

from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.shape = (batch_size, n_kv_heads, max_len, head_dim)
        self.layers = []
        for _ in range(n_layers):
            self.layers.append((np.zeros(self.shape, dtype), np.zeros(self.shape, dtype)))
        self.lengths = [0] * n_layers

    @property
    def length(self):
        return min(self.lengths)

    def append(self, layer, k, v):
        start = self.lengths[layer]
        if start + k.shape[2] > self.shape[2]:
            raise ValueError("beyond max_len")
        self.lengths[layer] = start + k.shape[2]
        for store, new in zip(self.layers[layer], (k, v), strict=True):
            store[:, :, start : self.lengths[layer]] = new
        return tuple(store[:, :, : self.lengths[layer]] for store in self.layers[layer])

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError("out of range")
        self.lengths = [length] * len(self.lengths)


def decode_step(model, token, cache):
    here = np.array([cache.length])
    x = model.embed(token)[:, np.newaxis]
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        k, v = cache.append(layer, apply_rope(k, here, model.config.rope_theta), v)
        q = apply_rope(q, here, model.config.rope_theta)
        x = model.add_attention(layer, x, grouped_query_attention(q, k, v))
        x = model.add_mlp(layer, x)
    return model.logits(x.squeeze(axis=1))


def prefill(model, tokens, cache):
    for token in tokens.T:
        logits = decode_step(model, token, cache)
    return logits


def generate(model, prompt, max_new_tokens, eos=None):
    c = model.config
    max_len = prompt.shape[1] + max_new_tokens
    cache = KVCache(c.n_layers, len(prompt), c.n_kv_heads, max_len, c.head_dim, model.dtype)
    logits, out = prefill(model, prompt, cache), []
    for step in range(max_new_tokens):
        token = np.argmax(logits, axis=1)
        if eos is not None and step > 0:
            token[np.any(np.array(out) == eos, axis=0)] = eos
        out.append(token)
        if eos is not None and np.any(np.array(out) == eos, axis=0).all():
            break
        if step < max_new_tokens - 1:
            logits = decode_step(model, token, cache)
    return np.array(out).T
