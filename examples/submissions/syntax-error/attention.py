# Everything is calculated in float64 and cast back at the end, so float32 inputs
# lose as little as possible.
import numpy as np


def softmax(x, axis=-1):
    x64 = x.astype(np.float64)
    x64 -= x64.max(axis, keepdims=True)
    np.exp(x64, out=x64)
    x64 /= x64.sum(axis, keepdims=True)
    return x64.astype(x.dtype)


def scaled_dot_product_attention(q, k, v, mask=None):
    q64, k64, v64 = (a.astype(np.float64) for a in (q, k, v))
    scores = (q64 @ k64.swapaxes(-1, -2)) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    return (softmax(scores) @ v64).astype(q.dtype)


def causal_mask(query_len, key_len):
    future = np.triu(np.ones((query_len, key_len)), k=key_len - query_len + 1)
    return future == 0


def split_heads(x, n_heads):
    b, t, _ = x.shape
    return np.moveaxis(x.reshape(b, t, n_heads, -1), 2, 1)


def merge_heads(x):
    b, _, t, _ = x.shape
    return np.moveaxis(x, 1, 2).reshape(b, t, -1)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    x64 = x.astype(np.float64)
    q = split_heads(x64 @ w_q, n_heads)
    k = split_heads(x64 @ w_k, n_heads)
    v = split_heads(x64 @ w_v, n_heads)
    n = x.shape[1]
    y = scaled_dot_product_attention(q, k, v, causal_mask(n, n))
    return (merge_heads(y) @ w_o).astype(x.dtype)
