"""The cache is a dict: layer number to keys and values."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


class KVCache(dict):
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        empty = np.zeros((batch_size, n_kv_heads, 0, head_dim), dtype)
        super().__init__(dict.fromkeys(range(n_layers), (empty, empty)))
        self.max_len = max_len

    @property
    def length(self):
        return min(k.shape[2] for k, _ in self.values())

    def append(self, layer, k, v):
        joined = tuple(
            np.concatenate([old, new], axis=2) for old, new in zip(self[layer], (k, v), strict=True)
        )
        if joined[0].shape[2] > self.max_len:
            raise ValueError("the cache is full")
        self[layer] = joined
        return joined

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("cannot truncate")
        self.update({layer: (k[:, :, :length], v[:, :, :length]) for layer, (k, v) in self.items()})


generate = partial(generate_with, KVCache)
