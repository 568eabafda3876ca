import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim & 1:
        raise ValueError(f"head_dim={head_dim} is odd")
    exponent = np.arange(0, head_dim, 2, dtype=np.float64) / head_dim
    return np.exp(-exponent * np.log(theta))


def apply_rope(x, positions, theta=10000.0):
    # a pair is a complex number, rotating it = multiplying by e^(i*angle)
    z = x[..., 0::2].astype(np.float64) + 1j * x[..., 1::2]
    angle = positions[..., np.newaxis] * rope_frequencies(x.shape[-1], theta)
    if positions.ndim == 2:
        angle = angle.reshape(angle.shape[:1] + (1,) * (x.ndim - 3) + angle.shape[1:])
    z = z * np.exp(1j * angle)
    y = np.empty(x.shape)
    y[..., 0::2], y[..., 1::2] = z.real, z.imag
    return y.astype(x.dtype)
