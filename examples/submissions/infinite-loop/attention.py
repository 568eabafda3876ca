import math

import numpy as np


def softmax(x, axis=-1):
    x = np.moveaxis(x, axis, -1)
    out = np.empty(x.shape, x.dtype)
    for idx in np.ndindex(x.shape[:-1]):
        e = np.exp(x[idx] - np.max(x[idx]))
        out[idx] = e / np.sum(e)
    return np.moveaxis(out, -1, axis)


def attend_one(q, K, V, visible):
    """One query (d,) looks at the visible rows of K and V."""
    scores = np.empty(len(visible), dtype=q.dtype)
    for n, s in enumerate(visible):
        scores[n] = np.dot(q, K[s]) / math.sqrt(len(q))
    weights = softmax(scores)
    out = np.zeros(V.shape[-1], dtype=q.dtype)
    for w, s in zip(weights, visible):
        out += w * V[s]
    return out


def scaled_dot_product_attention(q, k, v, mask=None):
    T, S = q.shape[-2], k.shape[-2]
    lead = q.shape[:-2]
    if mask is not None:
        mask = np.broadcast_to(mask, lead + (T, S))
    out = np.empty(q.shape[:-1] + (v.shape[-1],), dtype=q.dtype)
    for idx in np.ndindex(lead):
        for t in range(T):
            visible = [s for s in range(S) if mask is None or mask[idx][t, s]]
            out[idx][t] = attend_one(q[idx][t], k[idx], v[idx], visible)
    return out


def causal_mask(query_len, key_len):
    mask = np.zeros((query_len, key_len), dtype=bool)
    past = key_len - query_len  # how many keys were there before the first query
    for t in range(query_len):
        mask[t, : past + t + 1] = True
    return mask


def split_heads(x, n_heads):
    B, T, width = x.shape
    d = width // n_heads
    out = np.empty((B, n_heads, T, d), dtype=x.dtype)
    for h in range(n_heads):
        out[:, h] = x[:, :, h * d : (h + 1) * d]
    return out


def merge_heads(x):
    return np.concatenate([x[:, h] for h in range(x.shape[1])], axis=-1)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q = split_heads(x @ w_q, n_heads)
    k = split_heads(x @ w_k, n_heads)
    v = split_heads(x @ w_v, n_heads)
    mask = causal_mask(x.shape[1], x.shape[1])
    return merge_heads(scaled_dot_product_attention(q, k, v, mask)) @ w_o
