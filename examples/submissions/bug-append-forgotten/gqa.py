import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    B, H, T, d_h = q.shape
    G = k.shape[1]
    if H % G != 0:
        raise ValueError(f"H = {H} must be a multiple of G = {G}")
    # give K and V an extra axis of length 1, numpy broadcasts it
    q5 = q.reshape(B, G, H // G, T, d_h)
    out = scaled_dot_product_attention(q5, np.expand_dims(k, 2), np.expand_dims(v, 2), mask)
    return out.reshape(B, H, T, -1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads != 0:
        raise ValueError(f"H = {n_heads} must be a multiple of G = {n_kv_heads}")
    d = w.shape[0]
    d_h = w.shape[1] // n_heads
    return w.reshape(d, n_kv_heads, -1, d_h).mean(axis=2).reshape(d, -1)
