import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 != 0:
        raise ValueError("head_dim must be even")
    i = np.arange(head_dim // 2)
    return 1.0 / theta ** (2 * i / head_dim)


def apply_rope(x, positions, theta=10000.0):
    angles = np.multiply.outer(positions, rope_frequencies(x.shape[-1], theta))
    # insert axes between batch and time until it lines up with x
    while positions.ndim == 2 and angles.ndim < x.ndim:
        angles = angles[:, None]
    cos = np.repeat(np.cos(angles), 2, axis=-1).astype(x.dtype)
    sin = np.repeat(np.sin(angles), 2, axis=-1).astype(x.dtype)
    # (x0, x1, x2, x3) -> (-x1, x0, -x3, x2)
    turned = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
    return x * cos + turned * sin
