"""One head at a time."""

import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups != 0:
        raise ValueError("H must be a multiple of G")
    size = n_heads // n_groups
    out = np.empty((*q.shape[:3], v.shape[3]), dtype=q.dtype)
    for h in range(n_heads):
        g = h // size
        out[:, h] = scaled_dot_product_attention(q[:, h], k[:, g], v[:, g], mask)
    return out


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads != 0:
        raise ValueError("uneven groups")
    heads = np.split(w, n_heads, axis=1)
    size = n_heads // n_kv_heads
    pooled = [sum(heads[g * size : (g + 1) * size]) / size for g in range(n_kv_heads)]
    return np.concatenate(pooled, axis=1)
