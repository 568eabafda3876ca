import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    H, G = q.shape[1], k.shape[1]
    if H % G != 0:
        raise ValueError(f"H={H} is not a multiple of G={G}")
    R = H // G
    out = np.empty(q.shape[:-1] + (v.shape[-1],), dtype=q.dtype)
    for h in range(H):
        g = h // R
        out[:, h] = scaled_dot_product_attention(q[:, h], k[:, g], v[:, g], mask)
    return out


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads != 0:
        raise ValueError(f"{n_heads} heads / {n_kv_heads} groups does not work out")
    d_h = w.shape[1] // n_heads
    R = n_heads // n_kv_heads
    pooled = np.zeros((w.shape[0], n_kv_heads * d_h), dtype=w.dtype)
    for h in range(n_heads):
        g = h // R
        pooled[:, g * d_h : (g + 1) * d_h] += w[:, h * d_h : (h + 1) * d_h] / R
    return pooled
