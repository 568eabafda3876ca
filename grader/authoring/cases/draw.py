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

    def between(self, low: int, high: int) -> int:
        """A size, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def distinct(self, count: int, low: int, high: int) -> list[int]:
        """Sizes of which no two are the same, in any order; both ends included."""
        return self.rng.choice(np.arange(low, high + 1), size=count, replace=False).tolist()

    def theta(self, low: float = 60.0, high: float = 900.0) -> float:
        """A base of RoPE: as likely between 100 and 200 as between 200 and 400."""
        return float(f"{np.exp(self.rng.uniform(np.log(low), np.log(high))):.4g}")

    def groups(self) -> tuple[int, int]:
        """Key/value heads and query heads of each, more than one and not as many as the other."""
        n_groups, group_size = self.distinct(2, 2, 4)
        return n_groups, group_size

    def seed(self) -> int:
        """A seed for somebody else's generator."""
        return int(self.rng.integers(2**31))

    def increasing(self, count: int, below: int) -> np.ndarray:
        """Distinct increasing integers with gaps, for positions."""
        return np.sort(self.rng.choice(below, size=count, replace=False))
