"""What the two caches have in common, as an abstract base class and a mixin."""

from abc import ABC, abstractmethod

import numpy as np


class Counting:
    """Counts positions per layer."""

    def __init__(self, n_layers, max_len):
        self.max_len = max_len
        self._counts = np.zeros(n_layers, dtype=int)

    @property
    def length(self):
        return int(self._counts.min())

    def _advance(self, layer, count):
        start, end = self._counts[layer], self._counts[layer] + count
        if end > self.max_len:
            raise ValueError(f"{end} positions do not fit into {self.max_len}")
        self._counts[layer] = end
        return start, end

    def truncate(self, length):
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot keep {length} of {self.length} positions")
        self._counts[:] = length


class PairCache(Counting, ABC):
    """Two arrays a layer that grow along an axis."""

    def __init__(self, n_layers, max_len, shapes, dtype):
        super().__init__(n_layers, max_len)
        self._pairs = [[np.empty(shape, dtype) for shape in shapes] for _ in range(n_layers)]

    @abstractmethod
    def _part(self, array, start, end):
        """The positions start to end of an array, as a view."""

    def append(self, layer, *new):
        start, end = self._advance(layer, self._part(new[0], None, None).shape[self.axis])
        for array, block in zip(self._pairs[layer], new, strict=True):
            self._part(array, start, end)[...] = block
        return tuple(self._part(array, 0, end) for array in self._pairs[layer])
