"""The queries of a group lie below one another, so that a group is one matrix product."""

import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    b, h, t, d = q.shape
    g = k.shape[1]
    size, rest = divmod(h, g)
    if rest:
        raise ValueError(f"{g} groups cannot share {h} heads")
    stacked = q.reshape(b, g, size * t, d)
    if mask is not None:
        mask = np.tile(np.broadcast_to(mask, (t, k.shape[2])), (size, 1))
    return scaled_dot_product_attention(stacked, k, v, mask).reshape(b, h, t, v.shape[-1])


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError("uneven groups")
    size, head_dim = n_heads // n_kv_heads, w.shape[1] // n_heads
    average = np.full((size, 1), 1 / size, dtype=w.dtype)
    pool = np.kron(np.kron(np.eye(n_kv_heads, dtype=w.dtype), average), np.eye(head_dim))
    return np.matmul(w, pool.astype(w.dtype))
