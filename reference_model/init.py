"""Random parameters whose bugs show.

Weights N(0, 1/fan_in) keep every activation of unit size, and norm weights away from one make an
ignored norm visible; the customary 0.02 and ones hide RoPE and scale bugs below 1e-3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from .config import AnyConfig, MLAConfig, ModelConfig, as_config, param_shapes


def init_llama(
    config: AnyConfig, seed: int, dtype: DTypeLike = np.float64
) -> dict[str, np.ndarray]:
    """Draw the parameters of a `ModelConfig` from `np.random.default_rng(seed)`.

    The draw is made in float64 and then rounded, so float32 and float64 models of one seed agree.
    """
    if not isinstance(as_config(config), ModelConfig):
        raise ValueError("init_llama needs a ModelConfig; for an MLAConfig use init_mla")
    return _draw(config, seed, dtype)


def init_mla(config: AnyConfig, seed: int, dtype: DTypeLike = np.float64) -> dict[str, np.ndarray]:
    """Draw the parameters of an `MLAConfig` from `np.random.default_rng(seed)`."""
    if not isinstance(as_config(config), MLAConfig):
        raise ValueError("init_mla needs an MLAConfig; for a ModelConfig use init_llama")
    return _draw(config, seed, dtype)


def _draw(config: AnyConfig, seed: int, dtype: DTypeLike) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    params = {}
    for name, shape in param_shapes(config).items():
        if name.endswith("norm"):
            values = rng.uniform(0.5, 1.5, shape)
        elif name == "embedding":
            values = rng.standard_normal(shape)
        else:
            fan_in = shape[0]
            values = rng.standard_normal(shape) / np.sqrt(fan_in)
        params[name] = values.astype(dtype)
    return params
