"""Random numbers of a case, the same for a seed and a name on every machine."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

T = TypeVar("T")


class Draw:
    """Draws for one case."""

    def __init__(self, seed: int, name: str) -> None:
        self.rng = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def normal(self, *shape: int, dtype: DTypeLike = np.float64) -> np.ndarray:
        """Standard normal numbers."""
        return self.rng.standard_normal(shape).astype(dtype)

    def choice(self, options: Sequence[T]) -> T:
        """One of a few options."""
        return options[int(self.rng.integers(len(options)))]

    def seed(self) -> int:
        """A seed for somebody else's generator."""
        return int(self.rng.integers(2**31))

    def increasing(self, count: int, below: int) -> np.ndarray:
        """Distinct increasing integers with gaps, for positions."""
        return np.sort(self.rng.choice(below, size=count, replace=False))
