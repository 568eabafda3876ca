"""Parts 1 and 2: scaled dot-product attention, the causal mask and heads (L2 §2.2-2.6, D3)."""

from __future__ import annotations

import math

import numpy as np

# --- Part 1: scaled dot-product attention -----------------------------------------------------


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """exp(x_i) / sum_j exp(x_j) along `axis`; same shape and dtype as x.

    Must not overflow for large scores: softmax is unchanged when every entry of a row is shifted
    by the same amount. An entry of -inf gets weight exactly 0.

    Source: D3 "语言模型只做一件事".
    """
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


def scaled_dot_product_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """softmax(q k^T / sqrt(d_h)) v, the soft dictionary lookup.

    Args:
        q: queries (..., T, d_h).
        k: keys (..., S, d_h).
        v: values (..., S, d_v); d_v may differ from d_h.
        mask: bool, broadcastable to (..., T, S); True = may attend. Every query may attend to
            at least one key.

    Returns:
        (..., T, d_v), in the dtype of the inputs.

    Source: Vaswani et al. 2017 §3.2.1; L2 §2.2-2.4; D3 "一步一步算".
    """
    d_h = q.shape[-1]
    scores = np.matmul(q, np.swapaxes(k, -1, -2))
    scores = scores / math.sqrt(d_h)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores, axis=-1)
    return np.matmul(weights, v)


# --- Part 2: the causal mask and heads --------------------------------------------------------


def causal_mask(query_len: int, key_len: int) -> np.ndarray:
    """Who may attend to whom when the queries are the LAST query_len of key_len positions.

    Returns:
        bool (query_len, key_len), True = may attend. A position sees itself and all before it,
        so with a KV cache (key_len > query_len) the first query already sees the cached keys.

    Source: L2 §2.5; D3 "因果掩码".
    """
    i = np.arange(query_len)[:, None]
    j = np.arange(key_len)[None, :]
    return j - i <= key_len - query_len


def split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(B, T, H*d_h) -> (B, H, T, d_h): head h takes columns h*d_h to (h+1)*d_h.

    Source: L2 §2.6; D3 "多头".
    """
    B, T, _ = x.shape
    x = np.reshape(x, (B, T, n_heads, -1))
    return np.transpose(x, (0, 2, 1, 3))


def merge_heads(x: np.ndarray) -> np.ndarray:
    """(B, H, T, d_h) -> (B, T, H*d_h): the heads side by side, the inverse of split_heads.

    Source: L2 §2.6; D3 "多头".
    """
    B, H, T, d_h = x.shape
    x = np.transpose(x, (0, 2, 1, 3))
    return np.reshape(x, (B, T, H * d_h))


def multi_head_attention(
    x: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    w_o: np.ndarray,
    n_heads: int,
) -> np.ndarray:
    """Causal self-attention with n_heads heads, without positions.

    Args:
        x: (B, T, d).
        w_q, w_k: (d, H*d_h).
        w_v: (d, H*d_v).
        w_o: (H*d_v, d), mixes the concatenated heads.

    Returns:
        (B, T, d).

    Source: Vaswani et al. 2017 §3.2.2; L2 §2.6; D3 "多头".
    """
    T = x.shape[1]
    q = split_heads(np.matmul(x, w_q), n_heads)
    k = split_heads(np.matmul(x, w_k), n_heads)
    v = split_heads(np.matmul(x, w_v), n_heads)
    y = scaled_dot_product_attention(q, k, v, causal_mask(T, T))
    return np.matmul(merge_heads(y), w_o)
