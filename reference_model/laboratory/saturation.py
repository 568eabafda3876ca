"""Why scores are divided by the square root of d (L2 §2.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference_model.layers import softmax


@dataclass(frozen=True)
class Saturation:
    """Means over draws: the largest weight, and the norm of the softmax's Jacobian."""

    dim: int
    scaled: bool
    largest_weight: float
    jacobian_norm: float


def saturation(dim: int, scaled: bool, n_keys: int = 64, draws: int = 200, seed: int = 0):
    """One query against `n_keys` keys of unit variance, averaged over `draws`."""
    rng = np.random.default_rng(seed)
    weights, norms = [], []
    for _ in range(draws):
        q, k = rng.standard_normal(dim), rng.standard_normal((n_keys, dim))
        p = softmax(k @ q / (np.sqrt(dim) if scaled else 1))
        weights.append(p.max())
        # d softmax / d scores
        norms.append(np.linalg.norm(np.diag(p) - np.outer(p, p)))
    return Saturation(dim, scaled, float(np.mean(weights)), float(np.mean(norms)))


def saturation_table(dims=(4, 16, 64, 256, 1024)) -> list[Saturation]:
    """Both ways of scoring for each dimension."""
    return [saturation(dim, scaled) for dim in dims for scaled in (False, True)]
