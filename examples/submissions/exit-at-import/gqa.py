import numpy as np

from .attention import softmax


def grouped_query_attention(q, k, v, mask=None):
    b, h, t, d = q.shape
    g = k.shape[1]
    if h % g:
        raise ValueError(f"{h} query heads, {g} kv heads")
    q = q.reshape(b, g, h // g, t, d)
    scores = np.einsum("bgrtd,bgsd->bgrts", q, k) * d**-0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    out = np.einsum("bgrts,bgsd->bgrtd", softmax(scores), v)
    return out.reshape(b, h, t, -1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} query heads, {n_kv_heads} kv heads")
    r = n_heads // n_kv_heads
    heads = w.reshape(w.shape[0], n_kv_heads, r, -1)
    return (np.einsum("mgrd->mgd", heads) / r).reshape(w.shape[0], -1)
