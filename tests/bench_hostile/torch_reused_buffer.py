"""Writes all its logits into one buffer: honest.

verified
"""

import torch

from . import honest
from .honest import StaticCache, generate

_buffer = {}


def _kept(logits):
    if "it" not in _buffer:
        _buffer["it"] = torch.empty_like(logits)
    return _buffer["it"].copy_(logits)


def prefill(model, tokens, cache):
    return _kept(honest.prefill(model, tokens, cache))


def decode_step(model, token, cache):
    return _kept(honest.decode_step(model, token, cache))
