"""KVCache and MLACache share their code through base classes."""

from functools import partial

from .decoding import decode_step, generate_with, prefill  # noqa: F401
from .storage import PairCache


class KVCache(PairCache):
    axis = 2

    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (batch_size, n_kv_heads, max_len, head_dim)
        super().__init__(n_layers, max_len, (shape, shape), dtype)

    def _part(self, array, start, end):
        return array[:, :, start:end]


generate = partial(generate_with, KVCache)
