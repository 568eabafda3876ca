"""No class at all: a function that returns two functions and a number in a namespace."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from .decoding import decode_step, generate_with, prefill  # noqa: F401


def make_cache(n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
    keys, values = np.empty((2, n_layers, batch_size, n_kv_heads, max_len, head_dim), dtype)
    used = [0] * n_layers
    cache = SimpleNamespace(length=0)

    def append(layer, k, v):
        start, used_after = used[layer], used[layer] + k.shape[2]
        if used_after > max_len:
            raise ValueError("does not fit")
        keys[layer, :, :, start:used_after] = k
        values[layer, :, :, start:used_after] = v
        used[layer] = used_after
        cache.length = min(used)
        return keys[layer, :, :, :used_after], values[layer, :, :, :used_after]

    def truncate(length):
        nonlocal used
        if not 0 <= length <= cache.length:
            raise ValueError("out of range")
        used = [length] * n_layers
        cache.length = length

    cache.append, cache.truncate = append, truncate
    return cache


KVCache = make_cache


generate = partial(generate_with, KVCache)
