import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    H, G = q.shape[1], k.shape[1]
    if H % G != 0:
        raise ValueError(f"H = {H} must be a multiple of G = {G}")
    # copy the kv heads so that there is one for every query head
    k = np.tile(k, (1, H // G, 1, 1))
    v = np.tile(v, (1, H // G, 1, 1))
    return scaled_dot_product_attention(q, k, v, mask)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads != 0:
        raise ValueError(f"H = {n_heads} must be a multiple of G = {n_kv_heads}")
    d = w.shape[0]
    d_h = w.shape[1] // n_heads
    return w.reshape(d, n_kv_heads, -1, d_h).mean(axis=2).reshape(d, -1)
