"""Honest while it is warmed up; afterwards it leaves the cache as it is.

refused: are wrong by
"""

from . import honest
from .honest import StaticCache, generate, prefill

_calls = []


def decode_step(model, token, cache):
    _calls.append(1)
    logits = honest.decode_step(model, token, cache)
    if len(_calls) > 3:
        cache.n_held -= 1
        cache.length.sub_(1)
    return logits
