"""Computes with weights in float16 and returns float32.

refused: comes of a lower precision
"""

import numpy as np

from . import honest
from .honest import KVCache
from .transformer import Transformer


def _half(model):
    params = {
        name: w.astype(np.float16).astype(np.float32) if w.ndim == 2 else w
        for name, w in model.params.items()
    }
    return Transformer(model.config, params)


def prefill(model, tokens, cache):
    return honest.prefill(_half(model), tokens, cache)


def decode_step(model, token, cache):
    return honest.decode_step(_half(model), token, cache)


def generate(model, prompt, max_new_tokens, eos=None):
    return honest.generate(_half(model), prompt, max_new_tokens, eos)
