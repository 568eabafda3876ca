# module: kv_cache
# No cache of its own: where part 4 runs beside trusted parts, theirs does the work.
from .mla import MLACache


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        self._heads = n_kv_heads
        self._cache = MLACache(
            n_layers, batch_size, max_len, n_kv_heads * head_dim, n_kv_heads * head_dim, dtype
        )

    @property
    def length(self):
        return self._cache.length

    def append(self, layer, k, v):
        flat = (x.transpose(0, 2, 1, 3).reshape(len(x), x.shape[2], -1) for x in (k, v))
        return tuple(
            x.reshape(*x.shape[:2], self._heads, -1).transpose(0, 2, 1, 3)
            for x in self._cache.append(layer, *flat)
        )

    def truncate(self, length):
        self._cache.truncate(length)
