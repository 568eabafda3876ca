"""One rotation matrix for each position, block-diagonal, applied as a product."""

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    pairs, odd = divmod(head_dim, 2)
    if odd:
        raise ValueError("head_dim must be even")
    return np.logspace(0, -pairs * 2 / head_dim, pairs, endpoint=False, base=theta)


def rotation_matrices(positions, head_dim, theta):
    """(..., d_h, d_h) for positions (...), to be applied to columns."""
    angles = positions[..., None] * rope_frequencies(head_dim, theta)
    matrices = np.zeros((*positions.shape, head_dim, head_dim))
    even, odd = np.arange(0, head_dim, 2), np.arange(1, head_dim, 2)
    matrices[..., even, even] = matrices[..., odd, odd] = np.cos(angles)
    matrices[..., odd, even] = np.sin(angles)
    matrices[..., even, odd] = -np.sin(angles)
    return matrices


def apply_rope(x, positions, theta=10000.0):
    matrices = rotation_matrices(positions, x.shape[-1], theta)
    if positions.ndim == 2:
        matrices = np.expand_dims(matrices, tuple(range(1, x.ndim - 2)))
    return (matrices @ x[..., None])[..., 0].astype(x.dtype)
