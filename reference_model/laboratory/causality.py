"""What a changed token changes, with the causal mask and without (L2 §2.5)."""

from __future__ import annotations

import numpy as np

from reference_model.layers import attention, causal_mask


def change_of_outputs(masked: bool, length: int = 12, changed: int = 5, dim: int = 16, seed=0):
    """The largest change of each position's output (length,) when token `changed` is another."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((length, dim))
    w_q, w_k, w_v = rng.standard_normal((3, dim, dim)) / np.sqrt(dim)
    other = x.copy()
    other[changed] = rng.standard_normal(dim)
    mask = causal_mask(length, length) if masked else None
    before, after = (attention(y @ w_q, y @ w_k, y @ w_v, mask) for y in (x, other))
    return np.abs(after - before).max(axis=-1)
