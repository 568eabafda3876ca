"""Returns a Parameter, which is a subclass too.

refused: expected torch.Tensor torch.float32 cpu
"""

import torch

from . import honest
from .honest import StaticCache, generate, prefill


def decode_step(model, token, cache):
    return torch.nn.Parameter(honest.decode_step(model, token, cache))
