"""Never comes back from a step.

refused: did not return within
"""

import time

from .honest import KVCache, generate, prefill


def decode_step(model, token, cache):
    time.sleep(3600)
