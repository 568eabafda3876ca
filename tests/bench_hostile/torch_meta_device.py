"""Returns a tensor on a device where nothing is computed.

refused: torch.Tensor torch.float32 meta, expected torch.Tensor torch.float32 cpu
"""

from . import honest
from .honest import StaticCache, generate, prefill


def decode_step(model, token, cache):
    return honest.decode_step(model, token, cache).to("meta")
