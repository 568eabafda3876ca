"""Room for one position at first, and twice as much whenever that is full."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.limit = max_len
        self.buffers = [np.empty((2, batch_size, n_kv_heads, 1, head_dim), dtype)] * n_layers
        self.lengths = np.zeros(n_layers, dtype=int)
        self.owned = [False] * n_layers

    @property
    def length(self):
        return self.lengths.min()

    def append(self, layer, k, v):
        start = self.lengths[layer]
        end = start + k.shape[2]
        if end > self.limit:
            raise ValueError(f"at most {self.limit} positions")
        self._make_room(layer, end)
        self.buffers[layer][:, :, :, start:end] = k, v
        self.lengths[layer] = end
        keys, values = self.buffers[layer][:, :, :, :end]
        return keys, values

    def _make_room(self, layer, end):
        # All layers share the first buffer until they write: then each takes a copy.
        if not self.owned[layer]:
            self.buffers[layer] = self.buffers[layer].copy()
            self.owned[layer] = True
        while self.buffers[layer].shape[3] < end:
            self.buffers[layer] = np.concatenate([self.buffers[layer]] * 2, axis=3)

    def truncate(self, length):
        if length not in range(self.length + 1):
            raise ValueError("there are not so many positions")
        self.lengths[:] = length


generate = partial(generate_with, KVCache)
