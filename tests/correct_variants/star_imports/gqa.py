"""An axis for the groups, by split and stack."""

from .attention import *  # noqa: F403

# ruff: noqa: F405


def grouped_query_attention(q, k, v, mask=None):
    if q.shape[1] % k.shape[1]:
        raise ValueError("uneven")
    q = np.stack(np.split(q, k.shape[1], axis=1), axis=1)
    heads = scaled_dot_product_attention(q, k[:, :, None], v[:, :, None], mask)
    return np.concatenate([*np.moveaxis(heads, 1, 0)], axis=1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    r, rest = divmod(n_heads, n_kv_heads)
    if rest:
        raise ValueError("uneven")
    heads = w.reshape(w.shape[0], n_heads, -1)
    starts = range(0, n_heads, r)
    return np.hstack([heads[:, start : start + r].mean(axis=1) for start in starts])
