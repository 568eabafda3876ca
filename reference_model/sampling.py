"""What happens to logits before a token is drawn. (D3 temperature; L2 §3.3)

Each function takes logits (...,V) and returns logits of the same shape in float64, where a token
that may not be drawn has -inf.
"""

from __future__ import annotations

import numpy as np

from .layers import as_float64, softmax
from .shapes import Float64, Integer, Real


def temperature(logits: Real[np.ndarray, "*rows V"], T: float) -> Float64[np.ndarray, "*rows V"]:  # noqa: N803 (D3 calls it T)
    """logits / T for T > 0: below 1 sharper, above 1 flatter."""
    if not T > 0:
        raise ValueError(f"the temperature must be positive, not {T}; greedy is its limit at 0")
    return as_float64(logits) / T


def top_k(logits: Real[np.ndarray, "*rows V"], k: int) -> Float64[np.ndarray, "*rows V"]:
    """Keep the k largest logits of each row (all of them when k >= V).

    Among equal logits the lower token id is kept, so exactly k survive.
    """
    if k < 1:
        raise ValueError(f"top_k must keep at least one token, not {k}")
    return _row_by_row(logits, lambda row: _largest_first(row)[:k])


def top_p(logits: Real[np.ndarray, "*rows V"], p: float) -> Float64[np.ndarray, "*rows V"]:
    """Keep the smallest set of likeliest tokens whose probability reaches p, 0 < p <= 1.

    The token that crosses p is kept; at p = 1 every token of positive probability is.
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1, not {p}")
    return _row_by_row(logits, lambda row: _nucleus(row, p))


def _nucleus(row: Float64[np.ndarray, "V"], p: float) -> list[int]:
    probabilities = softmax(row)
    kept: list[int] = []
    reached = 0.0
    for token in _largest_first(row).tolist():
        # Sums of many probabilities can round to 1 early, so p = 1 never stops on the sum.
        if p < 1 and reached >= p:
            break
        if probabilities[token] == 0:
            break
        kept.append(token)
        reached += probabilities[token]
    return kept


def _largest_first(row: Float64[np.ndarray, "V"]) -> Integer[np.ndarray, "V"]:
    return np.argsort(-row, kind="stable")


def _row_by_row(logits: Real[np.ndarray, "*rows V"], kept_tokens) -> Float64[np.ndarray, "*rows V"]:
    logits = as_float64(logits)
    filtered = np.full_like(logits, -np.inf)
    for row in np.ndindex(logits.shape[:-1]):
        kept = kept_tokens(logits[row])
        filtered[row][kept] = logits[row][kept]
    return filtered
