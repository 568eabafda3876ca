"""np.einsum(..., optimize=True) wherever two arrays meet."""

import math
from functools import partial

import numpy as np

einsum = partial(np.einsum, optimize=True)


def softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    np.exp(x, out=x)
    x /= np.sum(x, axis=axis, keepdims=True)
    return x


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = einsum("...td,...sd->...ts", q, k) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    return einsum("...ts,...sv->...tv", softmax(scores), v)


def causal_mask(query_len, key_len):
    return np.tri(query_len, key_len, key_len - query_len, dtype=bool)


def split_heads(x, n_heads):
    b, t, d = x.shape
    return np.einsum("bthd->bhtd", x.reshape(b, t, n_heads, d // n_heads))


def merge_heads(x):
    b, h, t, d = x.shape
    return np.einsum("bhtd->bthd", x).reshape(b, t, h * d)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    d_model = x.shape[-1]
    w_q, w_k, w_v = (w.reshape(d_model, n_heads, -1) for w in (w_q, w_k, w_v))
    q, k, v = (einsum("btm,mhd->bhtd", x, w) for w in (w_q, w_k, w_v))
    heads = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))
    w_o = w_o.reshape(n_heads, -1, w_o.shape[-1])
    return einsum("bhtd,hdm->btm", heads, w_o)
