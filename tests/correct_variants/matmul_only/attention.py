"""Everything is a matrix product: heads are cut out and put back by selection matrices."""

import math

import numpy as np


def softmax(x, axis=-1):
    x = np.moveaxis(x, axis, -1)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    ones = np.ones((x.shape[-1], 1), dtype=x.dtype)
    return np.moveaxis(e / np.matmul(e, ones), -1, axis)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = np.matmul(q * q.dtype.type(1 / math.sqrt(q.shape[-1])), np.swapaxes(k, -1, -2))
    if mask is not None:
        scores = scores + np.where(mask, 0.0, -np.inf).astype(scores.dtype)
    return np.matmul(softmax(scores), v)


def causal_mask(query_len, key_len):
    # An upper triangle of ones counts, for every row, how many diagonal entries came before.
    identity = np.eye(query_len, key_len, key_len - query_len)
    return np.matmul(identity, np.tri(key_len)) > 0


def selectors(width, n_heads, dtype):
    """(H, H*d_h, d_h): matrix h keeps the columns of head h."""
    return np.eye(width, dtype=dtype).reshape(width, n_heads, -1).transpose(1, 0, 2)


def split_heads(x, n_heads):
    return np.matmul(x[:, None], selectors(x.shape[-1], n_heads, x.dtype))


def merge_heads(x):
    n_heads, head_dim = x.shape[1], x.shape[3]
    back = selectors(n_heads * head_dim, n_heads, x.dtype).transpose(0, 2, 1)
    return np.matmul(x, back).sum(axis=1)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(np.matmul(x, w), n_heads) for w in (w_q, w_k, w_v))
    heads = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))
    return np.matmul(merge_heads(heads), w_o)
