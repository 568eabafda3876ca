# Generated from solution/attention.py by `make assignment`; a change belongs there.
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
    raise NotImplementedError("Part 1.1 softmax: see README.md §1.1")


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
    raise NotImplementedError("Part 1.2 scaled_dot_product_attention: see README.md §1.2")


# --- Part 2: the causal mask and heads --------------------------------------------------------


def causal_mask(query_len: int, key_len: int) -> np.ndarray:
    """Who may attend to whom when the queries are the LAST query_len of key_len positions.

    Returns:
        bool (query_len, key_len), True = may attend. A position sees itself and all before it,
        so with a KV cache (key_len > query_len) the first query already sees the cached keys.

    Source: L2 §2.5; D3 "因果掩码".
    """
    raise NotImplementedError("Part 2.1 causal_mask: see README.md §2.1")


def split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """(B, T, H*d_h) -> (B, H, T, d_h): head h takes columns h*d_h to (h+1)*d_h.

    Source: L2 §2.6; D3 "多头".
    """
    raise NotImplementedError("Part 2.2 split_heads: see README.md §2.2")


def merge_heads(x: np.ndarray) -> np.ndarray:
    """(B, H, T, d_h) -> (B, T, H*d_h): the heads side by side, the inverse of split_heads.

    Source: L2 §2.6; D3 "多头".
    """
    raise NotImplementedError("Part 2.3 merge_heads: see README.md §2.3")


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
    raise NotImplementedError("Part 2.4 multi_head_attention: see README.md §2.4")
