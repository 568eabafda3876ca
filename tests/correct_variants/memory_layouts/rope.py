"""Rotates the first and second members of all pairs side by side, returns a transposed view."""

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2:
        raise ValueError("head_dim is odd")
    slow_first = theta ** (-np.arange(head_dim - 2, -1, -2) / head_dim)
    return slow_first[::-1]


def apply_rope(x, positions, theta=10000.0):
    angles = positions[..., None] * rope_frequencies(x.shape[-1], theta)
    while angles.ndim < x.ndim and positions.ndim == 2:
        angles = angles[:, None]
    c, s = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., ::2], x[..., 1::2]
    planes = np.stack([first * c - second * s, first * s + second * c])
    return np.moveaxis(planes, 0, -1).reshape(x.shape, order="C")
