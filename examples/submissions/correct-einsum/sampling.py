import numpy as np

from .attention import softmax


def apply_temperature(logits, temperature):
    if not temperature > 0:
        raise ValueError(f"temperature {temperature} makes no sense")
    return logits * (1 / temperature)


def keep_n_largest(logits, n):
    """n: (..., 1), how many to keep in each row"""
    ranked = np.sort(logits, axis=-1)[..., ::-1]
    smallest = np.take_along_axis(ranked, n - 1, axis=-1)
    return np.where(logits < smallest, -np.inf, logits)


def top_k(logits, k):
    if k < 1:
        raise ValueError(f"k = {k} would keep nothing")
    n = np.full(logits.shape[:-1] + (1,), min(k, logits.shape[-1]))
    return keep_n_largest(logits, n)


def top_p(logits, p):
    if not 0 < p <= 1:
        raise ValueError(f"p = {p} is not a probability")
    ranked = np.sort(softmax(logits), axis=-1)[..., ::-1]
    below = np.cumsum(ranked, axis=-1) < p
    n = below.sum(axis=-1, keepdims=True) + 1  # + 1: the one that crosses p
    return keep_n_largest(logits, np.minimum(n, logits.shape[-1]))
