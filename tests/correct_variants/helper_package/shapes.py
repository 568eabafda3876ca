"""Heads apart and together again."""

import numpy as np


def split(x, n_heads):
    return np.array(np.array_split(x, n_heads, axis=2)).transpose(1, 0, 2, 3)


def merge(x):
    return np.concatenate([*x.transpose(1, 0, 2, 3)], axis=2)
