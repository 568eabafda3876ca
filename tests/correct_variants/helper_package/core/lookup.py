"""The soft dictionary lookup."""

from __future__ import annotations

import math

import numpy as np

from .masks import hide


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    positive = np.exp(x - np.max(x, axis, keepdims=True))
    return np.divide(positive, np.add.reduce(positive, axis, keepdims=True))


def attend(q, k, v, mask=None):
    scores = (q[..., :, None, :] * k[..., None, :, :]).sum(axis=-1) / math.sqrt(q.shape[-1])
    return softmax(hide(scores, mask)) @ v
