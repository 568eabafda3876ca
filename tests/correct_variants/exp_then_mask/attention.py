"""Exponentials first; the mask multiplies them; then they are divided by their sum."""

import numpy as np


def normalise(weights, axis=-1):
    return weights / weights.sum(axis=axis, keepdims=True)


def softmax(x, axis=-1):
    return normalise(np.exp(x - x.max(axis=axis, keepdims=True)), axis)


def scaled_dot_product_attention(q, k, v, mask=None):
    # The root of the scale on either side, and float() to keep float32 as it is.
    root = float(q.shape[-1]) ** 0.25
    scores = (q / root) @ (k / root).swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    if mask is not None:
        weights = weights * mask
    return normalise(weights) @ v


def causal_mask(query_len, key_len):
    return np.fromfunction(lambda t, s: s - t <= key_len - query_len, (query_len, key_len))


def split_heads(x, n_heads):
    batch, length, width = x.shape
    return np.reshape(x, (batch, length, n_heads, width // n_heads)).swapaxes(1, 2)


def merge_heads(x):
    batch, _, length, _ = x.shape
    return np.reshape(x.swapaxes(1, 2), (batch, length, -1))


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = map(lambda w: split_heads(x @ w, n_heads), (w_q, w_k, w_v))  # noqa: C417
    n = x.shape[1]
    return merge_heads(scaled_dot_product_attention(q, k, v, mask=causal_mask(n, n))) @ w_o
