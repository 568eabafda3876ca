"""A dataclass with slots; length is a plain field kept up to date, of numpy's integer type."""

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


@dataclass(slots=True)
class Layer:
    k: np.ndarray
    v: np.ndarray
    used: int = 0


@dataclass(slots=True, eq=False)
class KVCache:
    n_layers: int
    batch_size: int
    n_kv_heads: int
    max_len: int
    head_dim: int
    dtype: np.dtype = np.float64
    verbose: bool = False
    length: np.int64 = field(default=np.int64(0), init=False)
    layers: list[Layer] = field(init=False)

    def __post_init__(self):
        shape = (self.batch_size, self.n_kv_heads, self.max_len, self.head_dim)
        self.layers = [
            Layer(np.empty(shape, self.dtype), np.empty(shape, self.dtype))
            for _ in range(self.n_layers)
        ]

    def append(self, layer, k, v):
        mine = self.layers[layer]
        end = mine.used + k.shape[2]
        if end > self.max_len:
            raise ValueError(f"{end} > {self.max_len}")
        mine.k[:, :, mine.used : end] = k
        mine.v[:, :, mine.used : end] = v
        mine.used = end
        self.length = np.int64(min(each.used for each in self.layers))
        return mine.k[:, :, :end].copy(), mine.v[:, :, :end].copy()

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"{length} not in 0..{self.length}")
        for each in self.layers:
            each.used = length
        self.length = np.int64(length)


generate = partial(generate_with, KVCache)
