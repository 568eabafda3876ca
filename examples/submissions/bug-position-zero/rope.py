import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 != 0:
        raise ValueError(f"need an even number of features for pairs, not {head_dim}")
    return np.array([theta ** (-2 * i / head_dim) for i in range(head_dim // 2)])


def apply_rope(x, positions, theta=10000.0):
    omega = rope_frequencies(x.shape[-1], theta)
    angle = positions[..., None] * omega
    if positions.ndim == 2 and x.ndim == 4:
        angle = np.expand_dims(angle, 1)  # heads
    c = np.cos(angle).astype(x.dtype)
    s = np.sin(angle).astype(x.dtype)
    first, second = x[..., ::2], x[..., 1::2]
    both = [first * c - second * s, first * s + second * c]
    return np.stack(both, axis=-1).reshape(x.shape)
