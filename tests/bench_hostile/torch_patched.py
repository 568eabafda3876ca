"""Replaces comparisons, copies, events and synchronisation, and answers with zeros.

refused: are wrong by
"""

import torch

from .honest import StaticCache, generate, prefill


class Event:
    def __init__(self, *args, **kwargs):
        pass

    def record(self, *args):
        pass

    def elapsed_time(self, other):
        return 0.0


def patch():
    torch.allclose = torch.equal = lambda *args, **kwargs: True
    torch.testing.assert_close = lambda *args, **kwargs: None
    torch.cuda.Event = Event
    torch.cuda.synchronize = lambda *args: None
    torch.Tensor.clone = lambda self, **kwargs: self


def decode_step(model, token, cache):
    patch()
    return torch.zeros(len(token), model.config.vocab_size, dtype=model.dtype)
