import numpy as np

from .attention import softmax


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError("temperature <= 0")
    return (logits.astype(np.float64) / temperature).astype(logits.dtype)


def top_k(logits, k):
    if k <= 0:
        raise ValueError("k <= 0")
    rank = np.argsort(np.argsort(-logits, axis=-1), axis=-1)  # 0 = best
    return np.where(rank < k, logits, logits.dtype.type(-np.inf))


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p outside (0, 1]")
    probs = softmax(logits.astype(np.float64))
    order = np.argsort(-probs, axis=-1)
    ranked = np.take_along_axis(probs, order, axis=-1)
    before = np.cumsum(ranked, axis=-1) - ranked  # probability of all better tokens
    rank = np.argsort(order, axis=-1)
    keep = np.take_along_axis(before < p, rank, axis=-1)
    return np.where(keep, logits, logits.dtype.type(-np.inf))
