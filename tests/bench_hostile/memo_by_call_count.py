"""Notes its answers while it is warmed up, and plays them back.

refused: are wrong by
"""

from . import honest
from .honest import KVCache, generate, prefill

_tape = []
_calls = 0


def decode_step(model, token, cache):
    global _calls
    _calls += 1
    if len(_tape) < 3:
        _tape.append(honest.decode_step(model, token, cache))
        return _tape[-1]
    return _tape[_calls % 3]
