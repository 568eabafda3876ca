from dataclasses import dataclass, field

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope


@dataclass
class KVCache:
    n_layers: int
    batch_size: int
    n_kv_heads: int
    max_len: int
    head_dim: int
    dtype: np.dtype
    keys: list = field(init=False, repr=False)
    values: list = field(init=False, repr=False)

    def __post_init__(self):
        nothing = np.zeros((self.batch_size, self.n_kv_heads, 0, self.head_dim), self.dtype)
        self.keys = [nothing] * self.n_layers
        self.values = [nothing] * self.n_layers

    @property
    def length(self):
        return min(k.shape[2] for k in self.keys)

    def append(self, layer, k, v):
        if self.keys[layer].shape[2] + k.shape[2] > self.max_len:
            raise ValueError(f"more than max_len = {self.max_len} tokens")
        self.keys[layer] = np.concatenate([self.keys[layer], k], axis=2).astype(self.dtype)
        self.values[layer] = np.concatenate([self.values[layer], v], axis=2).astype(self.dtype)
        return self.keys[layer], self.values[layer]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"bad length {length}, cache has {self.length}")
        self.keys = [k[:, :, :length] for k in self.keys]
        self.values = [v[:, :, :length] for v in self.values]


def prefill(model, tokens, cache):
    cfg = model.config
    T = tokens.shape[1]
    start = cache.length
    pos = np.arange(start, start + T)
    mask = causal_mask(T, start + T)
    x = model.embed(tokens)
    for i in range(cfg.n_layers):
        q, k, v = model.project_qkv(i, x)
        q = apply_rope(q, pos, cfg.rope_theta)
        k = apply_rope(k, pos, cfg.rope_theta)
        k, v = cache.append(i, k, v)
        x = model.add_attention(i, x, grouped_query_attention(q, k, v, mask))
        x = model.add_mlp(i, x)
    return model.logits(x)[:, -1]


def decode_step(model, token, cache):
    cfg = model.config
    pos = np.array([cache.length])
    x = model.embed(token[:, None])
    for i in range(cfg.n_layers):
        q, k, v = model.project_qkv(i, x)
        q = apply_rope(q, pos, cfg.rope_theta)
        k = apply_rope(k, pos, cfg.rope_theta)
        # the prompt's keys and values are in the cache, the new ones go behind them
        k_all = np.concatenate([cache.keys[i], k], axis=2)
        v_all = np.concatenate([cache.values[i], v], axis=2)
        x = model.add_attention(i, x, grouped_query_attention(q, k_all, v_all))
        x = model.add_mlp(i, x)
    return model.logits(x)[:, -1]


def generate(model, prompt, max_new_tokens, eos=None):
    B, T = prompt.shape
    cfg = model.config
    cache = KVCache(cfg.n_layers, B, cfg.n_kv_heads, T + max_new_tokens, cfg.head_dim, model.dtype)
    answer = []
    over = np.zeros(B, dtype=bool)
    logits = prefill(model, prompt, cache)
    for _ in range(max_new_tokens):
        if answer:
            logits = decode_step(model, answer[-1], cache)
        token = logits.argmax(axis=1)
        if eos is not None:
            token[over] = eos
            over |= token == eos
        answer.append(token)
        if over.all():
            break
    return np.stack(answer, axis=1)
