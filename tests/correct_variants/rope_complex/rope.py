"""A pair is a complex number, and a rotation a product with exp(i m f)."""

import numpy as np


def rope_frequencies(head_dim, theta=10000.0):
    if head_dim % 2 != 0:
        raise ValueError(f"pairs need an even head_dim, not {head_dim}")
    return theta ** -np.linspace(0, 1, head_dim // 2, endpoint=False)


def apply_rope(x, positions, theta=10000.0):
    turns = np.exp(1j * np.multiply.outer(positions, rope_frequencies(x.shape[-1], theta)))
    if positions.ndim == 2:
        turns = turns.reshape(len(turns), *[1] * (x.ndim - 3), *turns.shape[1:])
    complex_dtype = np.result_type(x.dtype, np.complex64)
    pairs = np.ascontiguousarray(x).view(complex_dtype)
    return (pairs * turns).astype(complex_dtype).view(x.dtype)
