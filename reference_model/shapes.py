"""Shapes as types: `Float64[np.ndarray, "B H T d_h"]` is a float64 array with these four axes.

    B batch    T query length    S key length    d model width    V vocabulary    d_ff MLP width
    H query heads    G key/value heads    d_h head width    d_v value width
    d_c latent    d_R rotated part of a head    nope the part that is not rotated

One letter stands for one number in all arguments and the result of a call. `...` is any number of
axes, and `#T` is T or 1. In arguments `Real` is any integer or float type:
the functions convert. jaxtyping gives these types a meaning, and tests/test_reference_shapes.py
checks them with it in every call; without jaxtyping they are names only.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING or find_spec("jaxtyping"):
    from jaxtyping import Bool, Float64, Integer, Real
else:
    Bool = Float64 = Integer = Real = None

__all__ = ["Bool", "Float64", "Integer", "Real"]
