# Generated from solution/gqa.py by `make assignment`; a change belongs there.
"""Part 5: grouped-query attention and mean pooling (Ainslie et al. 2023; L2 §6.1-6.3)."""

from __future__ import annotations

import numpy as np

from .attention import scaled_dot_product_attention


def grouped_query_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Attention in which query head h reads key/value head h // R, R = H / G.

    G = H is multi-head attention, G = 1 is multi-query attention. K and V are read where they
    lie: copying them R times would give back the bytes that GQA saves.

    Args:
        q: (B, H, T, d_h).
        k: (B, G, S, d_h).
        v: (B, G, S, d_v).
        mask: bool, broadcastable to (T, S); True = may attend.

    Returns:
        (B, H, T, d_v).

    Raises:
        ValueError: H is not a multiple of G.

    Source: Ainslie et al. 2023 §2.2; L2 §6.2; D3 "GQA".
    """
    raise NotImplementedError("Part 5.1 grouped_query_attention: see README.md §5.1")


def mean_pool_kv_heads(w: np.ndarray, n_heads: int, n_kv_heads: int) -> np.ndarray:
    """Turn an MHA's key or value projection into a GQA's: the mean of each group's heads.

    Args:
        w: (d, H*d_h), heads side by side.

    Returns:
        (d, G*d_h): group g is the mean of heads g*R to (g+1)*R - 1.

    Raises:
        ValueError: n_heads is not a multiple of n_kv_heads.

    Source: Ainslie et al. 2023 §2.1; L2 §6.3.
    """
    raise NotImplementedError("Part 5.2 mean_pool_kv_heads: see README.md §5.2")
