"""Angles in float64, the rotation too, and the result in the dtype of x."""

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim & 1:
        raise ValueError("an odd head_dim has no pairs")
    exponents = np.arange(head_dim // 2, dtype=np.float64) * 2 / head_dim
    return np.exp(-exponents * np.log(np.float64(theta)))


def apply_rope(x, positions, theta=10000.0):
    angles = np.multiply.outer(positions.astype(np.float64), rope_frequencies(x.shape[-1], theta))
    if positions.ndim == 2:
        angles = np.expand_dims(angles, tuple(range(1, x.ndim - 2)))
    doubled = np.repeat(angles, 2, axis=-1)
    partner = np.empty(x.shape, dtype=np.float64)
    partner[..., ::2] = -x[..., 1::2]
    partner[..., 1::2] = x[..., ::2]
    return (x * np.cos(doubled) + partner * np.sin(doubled)).astype(x.dtype)
