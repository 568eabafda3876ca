"""Recursion over the groups, and a class method for the pooling."""

import numpy as np

from .attention import Attention


class Grouped(Attention):
    @classmethod
    def attend(cls, q, k, v, mask=None):
        n_heads, n_groups = q.shape[1], k.shape[1]
        if n_heads % n_groups > 0:
            raise ValueError("H is no multiple of G")
        if n_groups == 1:
            return super().attend(q, k, v, mask)
        size = n_heads // n_groups
        first = super().attend(q[:, :size], k[:, :1], v[:, :1], mask)
        return np.concatenate([first, cls.attend(q[:, size:], k[:, 1:], v[:, 1:], mask)], axis=1)

    @classmethod
    def pool(cls, w, n_heads, n_kv_heads):
        if n_heads % n_kv_heads > 0:
            raise ValueError("H is no multiple of G")
        heads = cls.split(w[None], n_heads)
        groups = heads.reshape(1, n_kv_heads, -1, *heads.shape[2:])
        return cls.merge(np.average(groups, axis=2))[0]


grouped_query_attention = Grouped.attend
mean_pool_kv_heads = Grouped.pool
