"""Returns the buffer that held the step before.

refused: are wrong by
"""

from . import honest
from .honest import StaticCache, generate, prefill

_last = []


def decode_step(model, token, cache):
    _last.append(honest.decode_step(model, token, cache).clone())
    return _last[-2] if len(_last) > 1 else _last[-1]
