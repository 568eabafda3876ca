"""The cache is an ndarray of a class of its own, with a counter for each layer."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


class KVCache(np.ndarray):
    def __new__(cls, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (n_layers, 2, batch_size, n_kv_heads, max_len, head_dim)
        cache = np.zeros(shape, dtype).view(cls)
        cache.counts = [0] * n_layers
        return cache

    @property
    def length(self):
        return min(self.counts)

    def append(self, layer, k, v):
        old = self.counts[layer]
        new = self.counts[layer] = old + k.shape[2]
        if new > self.shape[-2]:
            self.counts[layer] = old
            raise ValueError("full")
        plain = np.asarray(self)[layer]
        plain[0, :, :, old:new], plain[1, :, :, old:new] = k, v
        return plain[0, :, :, :new], plain[1, :, :, :new]

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("out of range")
        self.counts = [length] * len(self.counts)


generate = partial(generate_with, KVCache)
