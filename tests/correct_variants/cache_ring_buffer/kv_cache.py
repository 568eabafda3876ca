"""A ring buffer that starts in the middle; append unrolls it."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.size = max_len
        self.first = max_len // 2  # where position 0 lies
        self.ring = np.full((n_layers, 2, max_len, batch_size, n_kv_heads, head_dim), np.nan, dtype)
        self.counts = [0] * n_layers

    @property
    def length(self):
        return min(self.counts)

    def append(self, layer, k, v):
        count = self.counts[layer] + k.shape[2]
        if count > self.size:
            raise ValueError("the ring would overwrite its oldest positions")
        slots = (self.first + np.arange(count)) % self.size
        new = slots[self.counts[layer] :]
        self.ring[layer, 0, new] = k.transpose(2, 0, 1, 3)
        self.ring[layer, 1, new] = v.transpose(2, 0, 1, 3)
        self.counts[layer] = count
        return tuple(side[slots].transpose(1, 2, 0, 3) for side in self.ring[layer])

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"{length} is more than the {self.length} positions held")
        self.counts = [length for _ in self.counts]


generate = partial(generate_with, KVCache)
