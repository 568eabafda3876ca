"""One head at work (L2 §2.1 to §2.5): a step at a time, a soft lookup, the scale, the mask."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from reference_model.layers import attention, causal_mask, softmax

# ---- One step after another against one product for all (L2 §2.1)


def recurrence_ratio(length: int = 256, dim: int = 256, repeats: int = 20) -> float:
    """Time of `length` vector products, each waiting for the last, over that of one matrix product.

    Both do the same FLOPs in float32. The best of `repeats` each, measured in turns.
    """
    rng = np.random.default_rng(0)
    w = (rng.standard_normal((dim, dim)) / np.sqrt(dim)).astype(np.float32)
    x = rng.standard_normal((length, dim)).astype(np.float32)

    def one_by_one() -> None:
        h = np.zeros(dim, dtype=np.float32)
        for row in x:
            h = np.tanh(row + h @ w)

    def at_once() -> None:
        np.tanh(x @ w)

    slow, fast = [], []
    for _ in range(repeats):
        slow.append(_seconds(one_by_one))
        fast.append(_seconds(at_once))
    return min(slow) / min(fast)


def _seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# ---- A soft dictionary lookup (L2 §2.2)


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


# ---- Why scores are divided by the square root of d (L2 §2.4)


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


# ---- What a changed token changes (L2 §2.5)


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
