"""The group axis is a letter of the einsum."""

import math

import numpy as np

from .attention import einsum, softmax


def grouped_query_attention(q, k, v, mask=None):
    b, h, t, d = q.shape
    g = k.shape[1]
    if h % g:
        raise ValueError(f"H={h} is not a multiple of G={g}")
    q = q.reshape(b, g, h // g, t, d)
    scores = einsum("bgrtd,bgsd->bgrts", q, k) / math.sqrt(d)
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    return einsum("bgrts,bgsv->bgrtv", softmax(scores), v).reshape(b, h, t, -1)


def mean_pool_kv_heads(w, n_heads, n_kv_heads):
    if n_heads % n_kv_heads:
        raise ValueError("n_heads must be a multiple of n_kv_heads")
    size = n_heads // n_kv_heads
    grouped = w.reshape(len(w), n_kv_heads, size, -1)
    return (einsum("mgrd->mgd", grouped) / size).reshape(len(w), -1)
