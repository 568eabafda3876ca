"""Parts 1 and 2, mostly einsum."""
import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = np.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        # most negative float instead of -inf: exp() of it is 0 as well
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    return np.einsum("...ts,...sd->...td", softmax(scores), v)


def causal_mask(query_len, key_len):
    return np.tri(query_len, key_len, key_len - query_len, dtype=bool)


def split_heads(x, n_heads):
    b, t, w = x.shape
    return np.einsum("bthd->bhtd", x.reshape(b, t, n_heads, w // n_heads))


def merge_heads(x):
    b, h, t, d = x.shape
    return np.einsum("bhtd->bthd", x).reshape(b, t, h * d)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    def project(w):
        return np.einsum("btm,mhd->bhtd", x, w.reshape(w.shape[0], n_heads, -1))

    t = x.shape[1]
    heads = scaled_dot_product_attention(project(w_q), project(w_k), project(w_v), causal_mask(t, t))
    return np.einsum("bhtd,hdm->btm", heads, w_o.reshape(n_heads, -1, w_o.shape[-1]))
