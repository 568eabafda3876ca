"""Writes all its logits into one buffer, as a loop without allocations does: honest.

verified
"""

import numpy as np

from . import honest
from .honest import KVCache, generate

_buffer = None


def prefill(model, tokens, cache):
    return _kept(honest.prefill(model, tokens, cache))


def decode_step(model, token, cache):
    return _kept(honest.decode_step(model, token, cache))


def _kept(logits):
    global _buffer
    if _buffer is None:
        _buffer = np.empty_like(logits)
    np.copyto(_buffer, logits)
    return _buffer
