"""Returns the buffer of the step before while it writes the other one.

refused: are wrong by
"""

import numpy as np

from . import honest
from .honest import KVCache, generate

_buffers, _turn = [None, None], 0


def prefill(model, tokens, cache):
    logits = honest.prefill(model, tokens, cache)
    _buffers[:] = [logits.copy(), logits.copy()]
    return logits


def decode_step(model, token, cache):
    global _turn
    _turn = 1 - _turn
    np.copyto(_buffers[_turn], honest.decode_step(model, token, cache))
    return _buffers[1 - _turn]
