"""Honest while it is warmed up; afterwards it leaves out the last layer's MLP.

refused: are wrong by
"""

from . import honest
from .honest import KVCache, generate, prefill
from .transformer import Transformer

_calls = 0


class Shorter(Transformer):
    def add_mlp(self, layer, x):
        return x if layer == self.config.n_layers - 1 else super().add_mlp(layer, x)


def decode_step(model, token, cache):
    global _calls
    _calls += 1
    if _calls > 3:
        model = Shorter(model.config, model.params)
    return honest.decode_step(model, token, cache)
