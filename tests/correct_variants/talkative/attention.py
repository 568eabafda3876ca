"""Prints, logs and warns wherever it can; numpy's own warnings come on top."""

import logging
import math
import sys
import warnings

import numpy as np

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
log = logging.getLogger(__name__)
print("attention loaded,", "numpy", np.__version__)


def softmax(x, axis=-1):
    print("softmax", x.shape, x.dtype, file=sys.stderr)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    np.log(np.zeros(1))  # divide by zero: a RuntimeWarning
    return e / e.sum(axis=axis, keepdims=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    log.debug("q %s k %s v %s 注意力", q.shape, k.shape, v.shape)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is None:
        warnings.warn("attention without a mask", stacklevel=2)
    else:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    print(weights[..., 0])
    return weights @ v


def causal_mask(query_len, key_len):
    mask = np.arange(key_len) <= np.arange(key_len - query_len, key_len).reshape(-1, 1)
    for row in mask:
        print("".join(".x"[int(seen)] for seen in row))
    return mask


def split_heads(x, n_heads):
    b, t, d = x.shape
    print(f"{d=} {n_heads=}", end=" ", flush=True)
    return x.reshape(b, t, n_heads, d // n_heads).transpose(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, d = x.shape
    sys.stdout.write(f"{h} heads of {d}\n")
    return x.transpose(0, 2, 1, 3).reshape(b, t, h * d)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    n = x.shape[1]
    return merge_heads(scaled_dot_product_attention(q, k, v, causal_mask(n, n))) @ w_o
