# Generated from solution/rope.py by `make assignment`; a change belongs there.
"""Part 3: rotary position embedding (Su et al. 2021; L2 §2.7)."""

from __future__ import annotations

import numpy as np


def rope_frequencies(head_dim: int, theta: float = 10000.0) -> np.ndarray:
    """Radians per position for each pair: theta ** (-2i / head_dim), i = 0 .. head_dim/2 - 1.

    Returns:
        float64 (head_dim / 2,): fast pairs first.

    Raises:
        ValueError: head_dim is odd, so its entries do not form pairs.

    Source: RoFormer §3.2.2; L2 §2.7.
    """
    raise NotImplementedError("Part 3.1 rope_frequencies: see README.md §3.1")


def apply_rope(x: np.ndarray, positions: np.ndarray, theta: float = 10000.0) -> np.ndarray:
    """Rotate pair i = (x[2i], x[2i+1]) of the vector at position m by the angle m * frequency_i.

    [x'_2i  ]   [cos  -sin] [x_2i  ]
    [x'_2i+1] = [sin   cos] [x_2i+1]

    Args:
        x: (..., T, d_h), for instance (B, H, T, d_h) or (B, T, d_h).
        positions: int (T,), or (B, T) when the rows of a batch sit at different positions; x is
            then (B, H, T, d_h) or (B, T, d_h). They need not start at 0 nor be consecutive.

    Returns:
        The shape and dtype of x; x itself is left as it was.

    Source: RoFormer §3.2.2, neighbouring pairs; L2 §2.7.
    """
    raise NotImplementedError("Part 3.2 apply_rope: see README.md §3.2")
