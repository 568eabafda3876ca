"""K and V repeated R times: more bytes than need be, and right."""

from .attention import *  # noqa: F403

# ruff: noqa: F405


def grouped_query_attention(q, k, v, mask=None):
    r, rest = divmod(q.shape[1], k.shape[1])
    if rest:
        raise ValueError("uneven")
    return scaled_dot_product_attention(q, np.repeat(k, r, axis=1), np.repeat(v, r, axis=1), mask)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    r, rest = divmod(n_heads, n_kv_heads)
    if rest:
        raise ValueError("uneven")
    heads = w.reshape(w.shape[0], n_heads, -1)
    starts = range(0, n_heads, r)
    return np.hstack([heads[:, start : start + r].mean(axis=1) for start in starts])
