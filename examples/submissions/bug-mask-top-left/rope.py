import math

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 == 1:
        raise ValueError("head_dim is odd, can't make pairs: %d" % head_dim)
    freqs = []
    for i in range(head_dim // 2):
        freqs.append(theta ** (-2 * i / head_dim))
    return np.array(freqs)


def apply_rope(x, positions, theta=10000.0):
    freqs = rope_frequencies(x.shape[-1], theta)
    out = np.empty_like(x)
    T = x.shape[-2]
    for t in range(T):
        for i, f in enumerate(freqs):
            if positions.ndim == 1:
                c, s = math.cos(positions[t] * f), math.sin(positions[t] * f)
            else:
                # one position per batch row, shape it so that it broadcasts over the heads
                angle = (positions[:, t] * f).reshape([-1] + [1] * (x.ndim - 3))
                c, s = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
            a, b = x[..., t, 2 * i], x[..., t, 2 * i + 1]
            out[..., t, 2 * i] = c * a - s * b
            out[..., t, 2 * i + 1] = s * a + c * b
    return out
