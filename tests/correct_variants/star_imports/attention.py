"""Everything the other modules need is exported from here by name, numpy included."""

import math

import numpy as np

__all__ = [
    "causal_mask",
    "math",
    "merge_heads",
    "multi_head_attention",
    "np",
    "scaled_dot_product_attention",
    "softmax",
    "split_heads",
]


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = np.ma.filled(np.ma.array(s, mask=~np.broadcast_to(mask, s.shape)), -np.inf)
    return softmax(s) @ v


def causal_mask(query_len, key_len):
    return np.arange(key_len)[None] < np.arange(key_len - query_len + 1, key_len + 1)[:, None]


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(0, 2, 1, 3)


def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(b, t, h * d)


def multi_head_attention(x, w_q, w_k, w_v, w_o, n_heads):
    q, k, v = (split_heads(x @ w, n_heads) for w in (w_q, w_k, w_v))
    n = x.shape[1]
    return merge_heads(scaled_dot_product_attention(q, k, v, causal_mask(n, n))) @ w_o


if __name__ == "__main__":
    import matplotlib.pyplot as plt

    plt.imshow(causal_mask(8, 8))
    plt.show()
