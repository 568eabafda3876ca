import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2:
        raise ValueError(f"RoPE needs an even head_dim (got {head_dim})")
    return np.power(theta, -np.linspace(0, 1, head_dim // 2, endpoint=False))


def rotation_matrices(positions, head_dim, theta):
    """(..., T, d/2, 2, 2)"""
    angle = np.einsum("...t,p->...tp", positions, rope_frequencies(head_dim, theta))
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def apply_rope(x, positions, theta=10000.0):
    rot = rotation_matrices(positions, x.shape[-1], theta).astype(x.dtype)
    if positions.ndim == 2 and x.ndim == 4:
        rot = rot[:, None]  # same for all heads
    pairs = x.reshape(*x.shape[:-1], -1, 2)
    return np.einsum("...pij,...pj->...pi", rot, pairs).reshape(x.shape)
