"""A thread that never rests, to slow down whoever it is compared with.

verified
"""

import threading

from .honest import KVCache, decode_step, generate, prefill


def _burn():
    data = bytes(1 << 20)
    while True:
        hash(data + b"x")  # without the interpreter's lock for most of it
        sum(data[:100])


threading.Thread(target=_burn, daemon=True).start()
