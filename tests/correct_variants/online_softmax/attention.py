"""One pass over the keys with a running maximum and sum, as FlashAttention does."""

import math

import numpy as np


def softmax(x, axis=-1):
    log_sum = np.logaddexp.reduce(x, axis=axis, keepdims=True)
    return np.exp(x - log_sum)


def scaled_dot_product_attention(q, k, v, mask=None, block=2):
    scale = math.sqrt(q.shape[-1])
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    rows = (*batch, q.shape[-2], 1)
    largest = np.full(rows, -np.inf, q.dtype)
    total = np.zeros(rows, q.dtype)
    out = np.zeros((*rows[:-1], v.shape[-1]), v.dtype)
    for start in range(0, k.shape[-2], block):
        part = slice(start, start + block)
        scores = q @ k[..., part, :].swapaxes(-1, -2) / scale
        if mask is not None:
            scores = np.where(mask[..., part], scores, -np.inf)
        new_largest = np.maximum(largest, scores.max(axis=-1, keepdims=True))
        # A row that has seen nothing but masked keys has no maximum to subtract yet.
        shift = np.where(np.isneginf(new_largest), 0, new_largest).astype(q.dtype)
        weights, rescale = np.exp(scores - shift), np.exp(largest - shift)
        total = total * rescale + weights.sum(axis=-1, keepdims=True)
        out = out * rescale + weights @ v[..., part, :]
        largest = new_largest
    return out / total


def causal_mask(query_len, key_len):
    mask = np.ones((query_len, key_len), dtype=bool)
    mask[np.triu_indices(query_len, key_len - query_len + 1, key_len)] = False
    return mask


def split_heads(x, n_heads):
    return np.moveaxis(x.reshape(*x.shape[:-1], n_heads, -1), -2, -3)


def merge_heads(x):
    return np.moveaxis(x, -3, -2).reshape(x.shape[0], x.shape[2], -1)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    """The sum over heads of what each adds to the output."""
    mask = causal_mask(x.shape[1], x.shape[1])
    split = [np.split(w, n_heads, axis=1) for w in (w_q, w_k, w_v)]
    return sum(
        scaled_dot_product_attention(x @ q, x @ k, x @ v, mask) @ o
        for q, k, v, o in zip(*split, np.split(w_o, n_heads, axis=0), strict=True)
    )
