"""Rounds what goes into the output projection to bfloat16.

refused: are wrong by
"""

import numpy as np

from . import honest
from .honest import KVCache, generate, prefill


def decode_step(model, token, cache):
    logits = honest.decode_step(model, token, cache)
    bits = logits.view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)
