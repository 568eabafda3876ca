"""The models that are timed."""

from __future__ import annotations

import torch
from torch import Tensor

from reference_model.config import ModelConfig, param_shapes

# 26.35 M parameters besides the embedding table: 105 MB in float32, beyond a core's caches.
CPU_MODEL = ModelConfig("26 M", 8, 512, 8, 2, 64, 1376, 8192)
# The shape of Llama-3.2-1B: 1.24 B parameters, tied as there.
GPU_MODEL = ModelConfig("1 B", 16, 2048, 32, 8, 64, 8192, 128256, 500000.0, tied=True)
# L2 §5.4: "a slightly larger model".
LECTURE_MODEL = ModelConfig("L2 5.4", 4, 256, 8, 2, 32, 688, 1024)


def random_params(config: ModelConfig, seed: int = 0, device: str = "cpu") -> dict[str, Tensor]:
    """float32 weights N(0, 1/fan_in) and norm weights in [0.5, 1.5], drawn on `device`."""
    generator = torch.Generator(device).manual_seed(seed)
    params = {}
    for name, shape in param_shapes(config).items():
        w = torch.empty(shape, device=device)
        if name.endswith("norm"):
            w.uniform_(0.5, 1.5, generator=generator)
        elif name == "embedding":
            # Tied, it is the output matrix too, and logits should be of unit size.
            width = shape[1] if config.tied else 1
            w.normal_(0, width**-0.5, generator=generator)
        else:
            w.normal_(0, shape[0] ** -0.5, generator=generator)
        params[name] = w
    return params
