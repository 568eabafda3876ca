"""Returns NaN, which some comparisons take as equal.

refused: a logit is NaN or infinite
"""

from . import honest
from .honest import KVCache, generate, prefill


def decode_step(model, token, cache):
    logits = honest.decode_step(model, token, cache)
    logits[:] = float("nan")
    return logits
