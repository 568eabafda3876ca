from math import sqrt

import numpy as np

NEG = -1e30  # fits into float32 and its exp is 0


def softmax(x, axis=-1):
    biggest = np.amax(x, axis=axis, keepdims=True)
    numerator = np.exp(x - biggest)
    return numerator / numerator.sum(axis=axis, keepdims=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    d_h = q.shape[-1]
    k_t = np.moveaxis(k, -1, -2)
    logits = (q @ k_t) / sqrt(d_h)
    if mask is not None:
        logits = np.where(mask, logits, NEG)
    return softmax(logits) @ v


def causal_mask(query_len, key_len):
    seen_before = np.ones((query_len, key_len - query_len), dtype=bool)
    square = np.tril(np.ones((query_len, query_len), dtype=bool))
    return np.concatenate([seen_before, square], axis=1)


def split_heads(x, n_heads):
    d_h = x.shape[2] // n_heads
    return x.reshape(x.shape[0], x.shape[1], n_heads, d_h).swapaxes(1, 2)


def merge_heads(x):
    x = x.swapaxes(1, 2)
    return x.reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q = split_heads(x @ w_q, n_heads)
    k = split_heads(x @ w_k, n_heads)
    v = split_heads(x @ w_v, n_heads)
    n_tokens = x.shape[1]
    out = scaled_dot_product_attention(q, k, v, mask=causal_mask(n_tokens, n_tokens))
    return merge_heads(out) @ w_o
