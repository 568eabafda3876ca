"""Part 7: temperature, top-k and top-p (D3 "语言模型只做一件事"; L2 §3.3)."""

from __future__ import annotations

import numpy as np

from .attention import softmax


def apply_temperature(logits: np.ndarray, temperature: float) -> np.ndarray:
    """Logits divided by the temperature: below 1 sharper, above 1 flatter.

    Args:
        logits: (..., V).
        temperature: > 0; greedy decoding is its limit at 0.

    Returns:
        (..., V), logits still, not probabilities.

    Raises:
        ValueError: temperature is not positive.

    Source: D3 "语言模型只做一件事".
    """
    ### BEGIN SOLUTION
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return logits / temperature
    ### END SOLUTION


def top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """Keep the k largest logits of each row and set the others to -inf.

    Args:
        logits: (..., V), no two equal.
        k: 1 or more; k >= V keeps everything.

    Returns:
        (..., V).

    Raises:
        ValueError: k is less than 1.

    Source: L2 §3.3.
    """
    ### BEGIN SOLUTION
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    smallest_kept = np.sort(logits, axis=-1)[..., -min(k, logits.shape[-1]), None]
    return np.where(logits >= smallest_kept, logits, -np.inf)
    ### END SOLUTION


def top_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Keep the smallest set of most likely tokens whose probability reaches p; others -inf.

    The token that crosses p belongs to the set, so at least one token always stays.

    Args:
        logits: (..., V), no two equal.
        p: 0 < p <= 1; 1 keeps everything.

    Returns:
        (..., V).

    Raises:
        ValueError: p is not in (0, 1].

    Source: Holtzman et al. 2019 §3.1; L2 §3.3.
    """
    ### BEGIN SOLUTION
    if not 0 < p <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    descending = np.argsort(-logits, axis=-1)
    probabilities = np.take_along_axis(softmax(logits), descending, axis=-1)
    reached_before = np.cumsum(probabilities, axis=-1) - probabilities
    keep = np.empty(logits.shape, dtype=bool)
    np.put_along_axis(keep, descending, reached_before < p, axis=-1)
    return np.where(keep, logits, -np.inf)
    ### END SOLUTION
