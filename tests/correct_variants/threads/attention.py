"""Two threads share the rows of the batch."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np

pool = ThreadPoolExecutor(max_workers=2)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _attend(q, k, v, mask):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    return softmax(np.where(mask, scores, -np.inf)) @ v


def scaled_dot_product_attention(q, k, v, mask=None):
    if mask is None:
        mask = np.full((q.shape[-2], k.shape[-2]), True)
    if q.ndim == 2 or len(q) != len(k) or mask.ndim > 2:
        return _attend(q, k, v, mask)
    return np.stack(list(pool.map(_attend, q, k, v, [mask] * len(q))))


def causal_mask(query_len, key_len):
    return np.vstack([np.arange(key_len) <= key_len - query_len + t for t in range(query_len)])


def split_heads(x, n_heads):
    return np.stack(list(pool.map(lambda row: np.stack(np.hsplit(row, n_heads)), x)))


def merge_heads(x):
    return np.stack(list(pool.map(np.hstack, x)))


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    projected = pool.map(x.__matmul__, (w_q, w_k, w_v))
    q, k, v = (split_heads(p, n_heads) for p in projected)
    return merge_heads(
        scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))
    ).dot(w_o)
