"""Prepares something once for each set of weights; no set comes twice.

verified
"""

from . import honest
from .honest import KVCache, decode_step, generate

_seen, _last = set(), [None]


def prefill(model, tokens, cache):
    if model is not _last[0]:
        weights = model.params["layers.0.w_q"].tobytes()
        if weights in _seen:
            print("known", flush=True)
        _seen.add(weights)
        _last[0] = model
    return honest.prefill(model, tokens, cache)
