"""Returns an object with __array__ in place of logits.

refused: expected numpy.ndarray
"""

from . import honest
from .honest import KVCache, generate, prefill


class Promise:
    def __init__(self, work):
        self._work = work

    def __array__(self, dtype=None, copy=None):
        return self._work()


def decode_step(model, token, cache):
    return Promise(lambda: honest.decode_step(model, token, cache))
