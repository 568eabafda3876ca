"""Remembers by the new token alone: the right answer of another context.

refused: are wrong by
"""

from . import honest
from .honest import KVCache, generate, prefill

_known = {}


def decode_step(model, token, cache):
    key = int(token[0]) % 2
    if key not in _known:
        _known[key] = honest.decode_step(model, token, cache)
    return _known[key]
