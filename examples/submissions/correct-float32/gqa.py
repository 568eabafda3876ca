import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    n_heads, n_groups = q.shape[1], k.shape[1]
    if n_heads % n_groups:
        raise ValueError(f"{n_heads} % {n_groups} != 0")
    size = n_heads // n_groups
    parts = []
    for g in range(n_groups):
        # k[:, g:g+1] has 1 head, numpy broadcasts it over the `size` query heads
        group = q[:, g * size : (g + 1) * size]
        parts.append(
            scaled_dot_product_attention(group, k[:, g : g + 1], v[:, g : g + 1], mask)
        )
    return np.concatenate(parts, axis=1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} % {n_kv_heads} != 0")
    rows, cols = w.shape
    grouped = w.astype(np.float64).reshape(rows, n_kv_heads, n_heads // n_kv_heads, cols // n_heads)
    return grouped.mean(2).reshape(rows, -1).astype(w.dtype)
