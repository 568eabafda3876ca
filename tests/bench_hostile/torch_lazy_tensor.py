"""Returns a tensor subclass that computes at the first operation on it.

refused: expected torch.Tensor torch.float32 cpu
"""

import torch

from . import honest
from .honest import StaticCache, generate, prefill


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


def decode_step(model, token, cache):
    lazy = torch.zeros(len(token), model.config.vocab_size, dtype=model.dtype).as_subclass(Lazy)
    lazy.work = lambda: honest.decode_step(model, token, cache)
    return lazy
