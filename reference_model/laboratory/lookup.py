"""Attention as a soft dictionary lookup (L2 §2.2)."""

from __future__ import annotations

import numpy as np

from reference_model.layers import softmax


def soft_lookup(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float):
    """softmax(keys @ query / temperature) and the mixture of values: (n,), and a number."""
    weights = softmax(keys @ query / temperature)
    return weights, float(weights @ values)


def lookup_table(temperatures=(0.05, 0.5, 1.0, 2.0, 20.0), seed: int = 0):
    """Five keys with values 10 to 50, a query that is somewhat like key 2.

    Returns:
        for each temperature (temperature, weights (5,), result): near 20 where it is low, near the
        mean of 30 where it is high.
    """
    rng = np.random.default_rng(seed)
    keys = rng.standard_normal((5, 8))
    query = 0.8 * keys[1] + 0.2 * rng.standard_normal(8)
    values = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    return [(t, *soft_lookup(query, keys, values, t)) for t in temperatures]
