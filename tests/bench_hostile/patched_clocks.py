"""Stops every clock it can reach and replaces comparisons and copies; sleeps in each step.

verified
"""

import time

import numpy as np

from . import honest
from .honest import KVCache, generate, prefill

_sleep = time.sleep
for _name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, _name, lambda: 0.0)
    setattr(time, f"{_name}_ns", lambda: 0)
np.allclose = np.array_equal = lambda *args, **kwargs: True
np.testing.assert_allclose = lambda *args, **kwargs: None
np.copy = lambda array, *args, **kwargs: array


def decode_step(model, token, cache):
    _sleep(0.01)
    return honest.decode_step(model, token, cache)
