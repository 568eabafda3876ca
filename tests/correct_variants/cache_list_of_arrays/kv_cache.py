"""A list of chunks for each layer, joined when they are read."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self.chunks = [[] for _ in range(n_layers)]
        self.max_len = max_len

    def _count(self, layer):
        return sum(k.shape[2] for k, _ in self.chunks[layer])

    @property
    def length(self):
        return min(map(self._count, range(len(self.chunks))))

    def append(self, layer, k, v):
        if self._count(layer) + k.shape[2] > self.max_len:
            raise ValueError("too many positions")
        self.chunks[layer].append((k.copy(), v.copy()))
        return [np.concatenate(side, axis=2) for side in zip(*self.chunks[layer], strict=True)]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError("bad length")
        for chunks in self.chunks:
            while chunks and sum(k.shape[2] for k, _ in chunks) > length:
                k, v = chunks.pop()
                keep = length - sum(k.shape[2] for k, _ in chunks)
                if keep > 0:
                    chunks.append((k[:, :, :keep], v[:, :, :keep]))


generate = partial(generate_with, KVCache)
