"""Results in Fortran order, with negative strides, as strided views, and read-only."""

import math

import numpy as np


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asfortranarray(e / e.sum(axis=axis, keepdims=True))


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = q @ np.ascontiguousarray(k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    # Room for two numbers where one is needed: the result is every second one.
    room = np.empty((*scores.shape[:-1], 2 * v.shape[-1]), v.dtype)
    room[..., ::2] = softmax(scores) @ v
    return room[..., ::2]


def causal_mask(query_len, key_len):
    # The mask of the reversed sequence, read backwards along both axes.
    reversed_mask = np.arange(key_len) >= np.arange(query_len)[:, None]
    mask = reversed_mask[::-1, ::-1]
    mask.setflags(write=False)
    return mask


def split_heads(x, n_heads):
    b, t, d = x.shape
    view = x.reshape(b, t, n_heads, d // n_heads).swapaxes(1, 2)
    view.flags.writeable = False
    return view


def merge_heads(x):
    b, h, t, d = x.shape
    return np.asfortranarray(x.swapaxes(1, 2).reshape(b, t, h * d))


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    heads = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1], x.shape[1]))
    return np.flip(np.flip(merge_heads(heads) @ w_o, axis=1).copy(), axis=1)
