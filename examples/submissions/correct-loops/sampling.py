import numpy as np

from .attention import softmax


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError("temperature must be > 0")
    return logits / temperature


def top_k(logits, k):
    if k < 1:
        raise ValueError("k must be >= 1")
    out = np.full(logits.shape, -np.inf, dtype=logits.dtype)
    for row in np.ndindex(logits.shape[:-1]):
        for i in np.argsort(logits[row])[::-1][:k]:
            out[row][i] = logits[row][i]
    return out


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError("p must be in (0, 1]")
    out = np.full(logits.shape, -np.inf, dtype=logits.dtype)
    probs = softmax(logits)
    for row in np.ndindex(logits.shape[:-1]):
        total = 0.0
        for i in np.argsort(logits[row])[::-1]:
            if total >= p:
                break
            out[row][i] = logits[row][i]
            total += probs[row][i]
    return out
