"""Two nested loops, over positions and over pairs."""

import math

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 == 1:
        raise ValueError("head_dim must be even")
    return np.array([1.0 / math.pow(theta, 2 * i / head_dim) for i in range(head_dim // 2)])


def apply_rope(x, positions, theta=10000.0):
    if positions.ndim == 2:
        return np.stack([apply_rope(x[b], positions[b], theta) for b in range(len(x))])
    frequencies = rope_frequencies(x.shape[-1], theta)
    out = x.copy()
    for t, position in enumerate(positions.tolist()):
        for i, frequency in enumerate(frequencies.tolist()):
            c, s = math.cos(position * frequency), math.sin(position * frequency)
            a, b = x[..., t, 2 * i], x[..., t, 2 * i + 1]
            out[..., t, 2 * i] = c * a - s * b
            out[..., t, 2 * i + 1] = s * a + c * b
    return out
