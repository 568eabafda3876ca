import numpy as np

from .attention import softmax


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError(f"temperature has to be positive: {temperature}")
    return logits / temperature


def top_k(logits, k):
    if k < 1:
        raise ValueError(f"k has to be at least 1: {k}")
    k = min(k, logits.shape[-1])
    kth_best = np.partition(logits, -k, axis=-1)[..., [-k]]
    return np.where(logits >= kth_best, logits, -np.inf)


def top_p(logits, p):
    if not (0 < p <= 1):
        raise ValueError(f"p has to be in (0, 1]: {p}")
    flat = logits.reshape(-1, logits.shape[-1])
    result = np.full_like(flat, -np.inf)
    for i, row in enumerate(flat):
        probs = softmax(row)
        # bisection for the cutoff: the largest one that still leaves probability p
        low, high = 0.0, 1.0
        while low != high:
            middle = (low + high) / 2
            if probs[probs >= middle].sum() >= p:
                low = middle
            else:
                high = middle
        result[i] = np.where(probs >= low, row, -np.inf)
    return result.reshape(logits.shape)
