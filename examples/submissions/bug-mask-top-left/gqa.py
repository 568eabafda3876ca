import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(q, k, v, mask=None):
    B, H, T, D = q.shape
    G, S = k.shape[1], k.shape[2]
    if H % G != 0:
        raise ValueError(f"can't divide {H} heads into {G} groups")
    R = H // G
    # the R heads of a group are just R*T queries for the same keys
    stacked = q.reshape(B, G, R * T, D)
    if mask is not None:
        mask = np.tile(np.broadcast_to(mask, (T, S)), (R, 1))
    out = scaled_dot_product_attention(stacked, k, v, mask)
    return out.reshape(B, H, T, v.shape[-1])


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads != 0:
        raise ValueError(f"can't divide {n_heads} heads into {n_kv_heads} groups")
    heads = np.split(w, n_heads, axis=1)
    R = n_heads // n_kv_heads
    means = [np.mean(heads[g * R : (g + 1) * R], axis=0) for g in range(n_kv_heads)]
    return np.concatenate(means, axis=1)
