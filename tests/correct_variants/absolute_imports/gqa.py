"""Names its siblings in full, as an editor's "organise imports" does."""

import numpy as np

import assignment.attention as attention


def grouped_query_attention(q, k, v, mask=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError("uneven groups")
    queries = np.split(q, k.shape[1], axis=1)
    heads = [
        attention.scaled_dot_product_attention(queries[g], k[:, g : g + 1], v[:, g : g + 1], mask)
        for g in range(k.shape[1])
    ]
    return np.concatenate(heads, axis=1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError("uneven groups")
    groups = np.hsplit(w, n_kv_heads)
    return np.hstack([np.mean(np.hsplit(g, n_heads // n_kv_heads), axis=0) for g in groups])
