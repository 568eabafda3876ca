"""Attention does not know the order; sines and rotations tell it (L2 §2.7)."""

from __future__ import annotations

import numpy as np

from reference_model.layers import attention, attention_weights, rope


def permutation_error(length: int = 10, dim: int = 16, seed: int = 0) -> float:
    """Without positions and mask: outputs of shuffled tokens against shuffled outputs."""
    rng = np.random.default_rng(seed)
    x, order = rng.standard_normal((length, dim)), rng.permutation(length)
    w_q, w_k, w_v = rng.standard_normal((3, dim, dim))

    def attend(y: np.ndarray) -> np.ndarray:
        return attention(y @ w_q, y @ w_k, y @ w_v)

    return float(np.abs(attend(x[order]) - attend(x)[order]).max())


def sinusoidal(positions: np.ndarray, dim: int) -> np.ndarray:
    """(n,) -> (n, dim): sin and cos of position / 10000^(2i/dim), side by side (Vaswani 2017)."""
    angles = np.asarray(positions)[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), dim)


def linearity_error(offset: int = 7, dim: int = 32, length: int = 50) -> float:
    """PE at pos + offset is one rotation of PE at pos, the same for every pos."""
    frequencies = 10000.0 ** (-np.arange(0, dim, 2) / dim)
    cos, sin = np.cos(offset * frequencies), np.sin(offset * frequencies)
    here = sinusoidal(np.arange(length), dim).reshape(length, -1, 2)
    there = sinusoidal(np.arange(offset, offset + length), dim).reshape(length, -1, 2)
    sines = here[..., 0] * cos + here[..., 1] * sin
    cosines = here[..., 1] * cos - here[..., 0] * sin
    return float(np.abs(np.stack([sines, cosines], axis=-1) - there).max())


def relative_scores(
    pairs=((5, 2), (105, 102), (10005, 10002)), dim: int = 16, seed: int = 5, skipped: int = 10
):
    """q·k with q rotated to the first and k to the second position of each pair.

    The document does not print its vectors. With 16 numbers each of seed 5, behind ten others, the
    score is its 3.6432231984 to the last digit: found by search.
    """
    rng = np.random.default_rng(seed)
    rng.standard_normal(skipped)
    q, k = rng.standard_normal((2, 1, dim))
    return [float((rope(q, np.array([m])) * rope(k, np.array([n]))).sum()) for m, n in pairs]


def previous_token_weights(length: int = 12, dim: int = 64, sharpness: float = 40.0):
    """Weights (length, length) of a head that looks one token back, by RoPE alone.

    All tokens are the same; the query is the key, turned forward by one position less.
    """
    content = np.ones((length, dim))
    positions = np.arange(length)
    # theta is small so that also slow pairs tell neighbours apart
    k = rope(content, positions, theta=100.0)
    q = rope(content, positions - 1, theta=100.0)
    mask = np.tri(length, dtype=bool)
    return attention_weights(q * sharpness, k, mask)
