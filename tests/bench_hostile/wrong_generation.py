"""Decodes honestly step by step; generate repeats its first token.

refused: below the largest
"""

import numpy as np

from . import honest
from .honest import KVCache, decode_step, prefill


def generate(model, prompt, max_new_tokens, eos=None):
    first = honest.generate(model, prompt, 1, eos)
    return np.repeat(first, max_new_tokens, axis=1)
