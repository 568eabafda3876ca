"""Generates the right tokens in another dtype.

refused: torch.Tensor torch.int32 cpu, expected torch.Tensor torch.int64 cpu
"""

import torch

from . import honest
from .honest import StaticCache, decode_step, prefill


def generate(model, prompt, max_new_tokens):
    return honest.generate(model, prompt, max_new_tokens).to(torch.int32)
