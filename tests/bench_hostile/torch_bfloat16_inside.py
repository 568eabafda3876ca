"""Computes in bfloat16 and returns float32.

refused: comes of a lower precision
"""

import torch

from . import honest
from .honest import generate
from .torch_model import TorchTransformer

_models = {}


def _small(model):
    if model not in _models:
        _models.clear()
        _models[model] = TorchTransformer(model.config, model.params, "cpu", torch.bfloat16)
    return _models[model]


class StaticCache(honest.StaticCache):
    def __init__(self, config, batch_size, max_len, device, dtype):
        super().__init__(config, batch_size, max_len, device, torch.bfloat16)


def prefill(model, tokens, cache):
    return honest.prefill(_small(model), tokens, cache).float()


def decode_step(model, token, cache):
    return honest.decode_step(_small(model), token, cache).float()
