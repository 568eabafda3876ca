"""Hands out a buffer at once, and fills it from another thread later (as on another stream).

refused: are wrong by
"""

import threading
import time

import numpy as np

from . import honest
from .honest import KVCache, generate, prefill


def decode_step(model, token, cache):
    buffer = np.zeros((len(token), model.config.vocab_size), model.dtype)

    def fill():
        time.sleep(0.05)
        buffer[...] = honest.decode_step(model, token, cache)

    threading.Thread(target=fill, daemon=True).start()
    return buffer
