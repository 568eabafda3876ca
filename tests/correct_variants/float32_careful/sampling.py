"""Sorted once, cumulated in float64, written into a copy."""

import numpy as np


def apply_temperature(logits, temperature):
    if not temperature > 0:
        raise ValueError("temperature must be greater than 0")
    return (logits.astype(np.float64) / temperature).astype(logits.dtype)


def top_k(logits, k):
    if k <= 0:
        raise ValueError("k must be positive")
    k = min(k, logits.shape[-1])
    ruled_out = np.argpartition(logits, -k, axis=-1)[..., :-k]
    out = logits.copy()
    np.put_along_axis(out, ruled_out, -np.inf, axis=-1)
    return out


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p must be in (0, 1]")
    out = np.full_like(logits, -np.inf)
    for place in np.ndindex(logits.shape[:-1]):
        row = logits[place].astype(np.float64)
        weights = np.exp(row - row.max())
        weights /= weights.sum()
        order = np.argsort(weights)[::-1]
        n_kept = int(np.searchsorted(np.cumsum(weights[order]), p)) + 1
        kept = order[:n_kept]
        out[(*place, kept)] = logits[(*place, kept)]
    return out
