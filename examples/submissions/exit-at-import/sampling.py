import numpy as np

from .attention import softmax


def apply_temperature(logits, temperature):
    if temperature <= 0:
        raise ValueError(f"temperature = {temperature}")
    return logits / temperature


def top_k(logits, k):
    if k < 1:
        raise ValueError(f"k = {k}")
    V = logits.shape[-1]
    if k >= V:
        return logits.copy()
    out = logits.copy()
    losers = np.argpartition(logits, V - k, axis=-1)[..., : V - k]
    np.put_along_axis(out, losers, -np.inf, axis=-1)
    return out


def top_p(logits, p):
    if p <= 0 or p > 1:
        raise ValueError(f"p = {p}")
    order = np.flip(np.argsort(logits, axis=-1), axis=-1)
    cumulative = np.cumsum(np.take_along_axis(softmax(logits), order, axis=-1), axis=-1)
    # a token goes when the ones before it already have p
    drop = np.zeros(logits.shape, dtype=bool)
    drop[..., 1:] = cumulative[..., :-1] >= p
    undo = np.argsort(order, axis=-1)
    return np.where(np.take_along_axis(drop, undo, axis=-1), -np.inf, logits)
