"""Frequencies and tables of cos and sin are made once and kept."""

from functools import cache, lru_cache

import numpy as np


@cache
def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2:
        raise ValueError("head_dim must be even")
    frequencies = np.power(float(theta), -np.arange(0, head_dim, 2) / head_dim)
    frequencies.setflags(write=False)  # everybody gets the same array
    return frequencies


@lru_cache(maxsize=8)
def tables(n_positions, head_dim, theta, dtype):
    angles = np.outer(np.arange(n_positions), rope_frequencies(head_dim, theta))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def apply_rope(x, positions, theta=10000.0):
    # Tables of a power of two, so that they are seldom made anew.
    n_positions = 1 << int(positions.max()).bit_length()
    cos, sin = (t[positions] for t in tables(n_positions, x.shape[-1], theta, x.dtype))
    if positions.ndim == 2:
        extra = (slice(None), *[None] * (x.ndim - 3))
        cos, sin = cos[extra], sin[extra]
    even, odd = x[..., ::2], x[..., 1::2]
    out = np.empty(x.shape, x.dtype)
    np.subtract(even * cos, odd * sin, out=out[..., ::2])
    np.add(even * sin, odd * cos, out=out[..., 1::2])
    return out
