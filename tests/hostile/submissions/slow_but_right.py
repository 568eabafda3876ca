# HONEST: right, only slow.
import time

_fast = apply_rope


def apply_rope(x, positions, theta=10000.0):
    time.sleep(0.03)
    return _fast(x, positions, theta)
