"""While it waits, a thread computes the answer to the token it expects, and hands it out unasked.

refused: are wrong by
"""

import copy
import threading

from . import honest
from .honest import KVCache, generate, prefill

_next = {}


def _ahead(model, token, cache):
    _next["logits"] = honest.decode_step(model, token, copy.deepcopy(cache))


def decode_step(model, token, cache):
    if "thread" in _next:
        _next["thread"].join()
        logits = _next.pop("logits")
        honest.decode_step(model, token, cache)
    else:
        logits = honest.decode_step(model, token, cache)
    guess = logits.argmax(axis=-1)
    _next["thread"] = threading.Thread(target=_ahead, args=(model, guess, cache), daemon=True)
    _next["thread"].start()
    return logits
