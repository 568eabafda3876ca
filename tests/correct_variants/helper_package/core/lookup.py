"""The soft dictionary lookup."""

from __future__ import annotations

import math

import numpy as np

from .masks import hide


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    positive = np.exp(x - np.max(x, axis, keepdims=True))
    return np.divide(positive, np.add.reduce(positive, axis, keepdims=True))


def attend(q, k, v, mask=None):
    of_each = [(k @ query[..., None])[..., 0] for query in np.moveaxis(q, -2, 0)]
    scores = np.stack(of_each, axis=-2) / math.sqrt(q.shape[-1])
    return softmax(hide(scores, mask)) @ v
