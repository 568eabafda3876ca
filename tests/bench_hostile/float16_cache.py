"""Keeps keys and values in float16, half the bytes to read, and returns float32.

refused: are wrong by
"""

import numpy as np

from . import honest
from .honest import decode_step, generate, prefill


class KVCache(honest.KVCache):
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        super().__init__(n_layers, batch_size, n_kv_heads, max_len, head_dim, np.float16)

    def append(self, layer, k, v):
        keys, values = super().append(layer, k, v)
        return keys.astype(np.float32), values.astype(np.float32)
