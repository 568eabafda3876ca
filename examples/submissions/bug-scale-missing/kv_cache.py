import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (batch_size, n_kv_heads, max_len, head_dim)
        self.max_len = max_len
        # separate arrays for every layer
        self.keys = {layer: np.zeros(shape, dtype=dtype) for layer in range(n_layers)}
        self.values = {layer: np.zeros(shape, dtype=dtype) for layer in range(n_layers)}
        self.count = dict.fromkeys(range(n_layers), 0)

    @property
    def length(self):
        return min(self.count.values())

    def append(self, layer, k, v):
        n = self.count[layer]
        m = n + k.shape[2]
        if m > self.max_len:
            raise ValueError(f"cache overflow: {m} > {self.max_len}")
        self.keys[layer][:, :, n:m, :] = k
        self.values[layer][:, :, n:m, :] = v
        self.count[layer] = m
        return self.keys[layer][:, :, :m, :], self.values[layer][:, :, :m, :]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"cannot truncate from {self.length} to {length}")
        for layer in self.count:
            self.count[layer] = length


def prefill(model, tokens, cache):
    cfg = model.config
    n_new = tokens.shape[1]
    offset = cache.length
    positions = np.arange(n_new) + offset
    mask = causal_mask(n_new, offset + n_new)
    h = model.embed(tokens)
    for layer in range(cfg.n_layers):
        q, k, v = model.project_qkv(layer, h)
        q = apply_rope(q, positions, cfg.rope_theta)
        k = apply_rope(k, positions, cfg.rope_theta)
        k_all, v_all = cache.append(layer, k, v)
        y = grouped_query_attention(q, k_all, v_all, mask)
        h = model.add_attention(layer, h, y)
        h = model.add_mlp(layer, h)
    return model.logits(h[:, -1])


def decode_step(model, token, cache):
    cfg = model.config
    position = np.array([cache.length])
    h = model.embed(token[:, np.newaxis])
    for layer in range(cfg.n_layers):
        q, k, v = model.project_qkv(layer, h)
        q = apply_rope(q, position, cfg.rope_theta)
        k = apply_rope(k, position, cfg.rope_theta)
        k_all, v_all = cache.append(layer, k, v)
        y = grouped_query_attention(q, k_all, v_all)  # newest token may see everything
        h = model.add_attention(layer, h, y)
        h = model.add_mlp(layer, h)
    return model.logits(h[:, 0])


def generate(model, prompt, max_new_tokens, eos=None):
    cfg = model.config
    b, t = prompt.shape
    cache = KVCache(cfg.n_layers, b, cfg.n_kv_heads, t + max_new_tokens, cfg.head_dim, model.dtype)
    new_tokens = np.zeros((b, 0), dtype=np.int64)
    stopped = np.zeros(b, dtype=bool)
    for i in range(max_new_tokens):
        if i == 0:
            logits = prefill(model, prompt, cache)
        else:
            logits = decode_step(model, new_tokens[:, -1], cache)
        choice = np.argmax(logits, axis=-1)
        if eos is not None:
            choice = np.where(stopped, eos, choice)
            stopped = np.logical_or(stopped, choice == eos)
        new_tokens = np.hstack([new_tokens, choice[:, np.newaxis]])
        if stopped.all():
            break
    return new_tokens
