"""Computes in float64 whatever comes in, and casts back at every return."""

import numpy as np


def softmax(x, axis=-1):
    wide = np.asarray(x, dtype=np.float64)
    e = np.exp(wide - np.amax(wide, axis=axis, keepdims=True))
    return (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)


def scaled_dot_product_attention(q, k, v, mask=None):
    q64, k64, v64 = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    scores = np.matmul(q64, np.swapaxes(k64, -2, -1)) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return np.matmul(softmax(scores), v64).astype(q.dtype)


def causal_mask(query_len, key_len):
    return np.tril(np.ones((query_len, key_len)), key_len - query_len).astype(bool)


def split_heads(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1), axis=1)


def merge_heads(x):
    return np.concatenate(np.moveaxis(x, 1, 0), axis=-1)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    wide = x.astype(np.float64)
    q, k, v = (split_heads(wide @ w.astype(np.float64), n_heads) for w in (w_q, w_k, w_v))
    out = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))
    return (merge_heads(out) @ w_o).astype(x.dtype)
