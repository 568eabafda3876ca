"""The mask is added: -1e9 where attention is forbidden."""

import numpy as np


def softmax(x, axis=-1):
    x = x - x.max(axis, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = (q @ np.moveaxis(k, -1, -2)) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + (1 - mask.astype(scores.dtype)) * -1e9
    return softmax(scores) @ v


def causal_mask(query_len, key_len):
    return ~np.triu(np.ones((query_len, key_len), dtype=bool), k=1 + key_len - query_len)


def split_heads(x, n_heads):
    return x.reshape((*x.shape[:2], n_heads, x.shape[2] // n_heads)).transpose([0, 2, 1, 3])


def merge_heads(x):
    return np.dstack([x[:, h] for h in range(x.shape[1])])


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    # One product for all three projections.
    qkv = x @ np.hstack([w_q, w_k, w_v])
    ends = np.cumsum([w_q.shape[1], w_k.shape[1]])
    q, k, v = (split_heads(part, n_heads) for part in np.split(qkv, ends, axis=-1))
    return merge_heads(scaled_dot_product_attention(q, k, v, causal_mask(*[x.shape[1]] * 2))) @ w_o
