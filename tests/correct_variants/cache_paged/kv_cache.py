"""Pages of three positions and a page table, as in a serving engine."""

from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401

PAGE = 3


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        n_pages = -(-max_len // PAGE) * n_layers
        self.max_len = max_len
        self.pages = np.zeros((n_pages, 2, batch_size, n_kv_heads, PAGE, head_dim), dtype)
        self.free = list(range(n_pages))
        self.table = [[] for _ in range(n_layers)]
        self.held = [0] * n_layers

    @property
    def length(self):
        return min(self.held)

    def append(self, layer, k, v):
        if self.held[layer] + k.shape[2] > self.max_len:
            raise ValueError(f"max_len is {self.max_len}")
        for t in range(k.shape[2]):
            number, offset = divmod(self.held[layer], PAGE)
            if number == len(self.table[layer]):
                self.table[layer].append(self.free.pop())
            page = self.pages[self.table[layer][number]]
            page[0, :, :, offset], page[1, :, :, offset] = k[:, :, t], v[:, :, t]
            self.held[layer] += 1
        gathered = np.concatenate(self.pages[self.table[layer]], axis=3)
        keys, values = gathered[:, :, :, : self.held[layer]]
        return keys, values

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError("truncate cannot lengthen")
        n_pages = -(-length // PAGE)
        for layer, pages in enumerate(self.table):
            self.free += pages[n_pages:]
            del pages[n_pages:]
            self.held[layer] = length


generate = partial(generate_with, KVCache)
