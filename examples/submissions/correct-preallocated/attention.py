import math

import numpy as np


def softmax(x, axis=-1):
    # log-sum-exp version
    m = x.max(axis=axis, keepdims=True)
    lse = m + np.log(np.exp(x - m).sum(axis=axis, keepdims=True))
    return np.exp(x - lse)


def scaled_dot_product_attention(q, k, v, mask=None):
    q = q / math.sqrt(q.shape[-1])
    scores = np.matmul(q, np.swapaxes(k, -2, -1))
    if mask is not None:
        bias = np.where(mask, 0.0, -np.inf).astype(scores.dtype)
        scores = scores + bias
    return np.matmul(softmax(scores), v)


def causal_mask(query_len, key_len):
    rows = np.arange(query_len).reshape(-1, 1) + (key_len - query_len)
    cols = np.arange(key_len).reshape(1, -1)
    return rows >= cols


def split_heads(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1), axis=1)


def merge_heads(x):
    B, H, T, D = x.shape
    return np.swapaxes(x, 1, 2).reshape(B, T, H * D)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    T = x.shape[1]
    q, k, v = [split_heads(np.matmul(x, w), n_heads) for w in [w_q, w_k, w_v]]
    out = scaled_dot_product_attention(q, k, v, mask=causal_mask(T, T))
    return np.matmul(merge_heads(out), w_o)
