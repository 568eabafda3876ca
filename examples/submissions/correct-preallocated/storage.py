"""Helper: arrays that grow along the time axis, used by both caches."""

import numpy as np


class GrowingArray:
    """Doubles its capacity when it is full (like a C++ vector), so appending is cheap."""

    def __init__(self, shape, axis, dtype):
        self.axis = axis
        self.used = 0
        shape = list(shape)
        shape[axis] = 4
        self.buffer = np.empty(shape, dtype)

    def _slice(self, start, stop):
        index = [slice(None)] * self.buffer.ndim
        index[self.axis] = slice(start, stop)
        return tuple(index)

    def extend(self, block):
        needed = self.used + block.shape[self.axis]
        while self.buffer.shape[self.axis] < needed:
            self.buffer = np.concatenate([self.buffer, np.empty_like(self.buffer)], axis=self.axis)
        self.buffer[self._slice(self.used, needed)] = block
        self.used = needed

    def view(self):
        return self.buffer[self._slice(0, self.used)]


class LayeredCache:
    """What KVCache and MLACache have in common: two growing arrays per layer."""

    time_axis = None

    def __init__(self, n_layers, max_len, first_shape, second_shape, dtype):
        self.max_len = max_len
        self.layers = [
            (
                GrowingArray(first_shape, self.time_axis, dtype),
                GrowingArray(second_shape, self.time_axis, dtype),
            )
            for _ in range(n_layers)
        ]

    @property
    def length(self):
        return min(first.used for first, _ in self.layers)

    def append(self, layer, first, second):
        pair = self.layers[layer]
        if pair[0].used + first.shape[self.time_axis] > self.max_len:
            raise ValueError(f"only room for {self.max_len} positions")
        for array, block in zip(pair, (first, second)):
            array.extend(block)
        return pair[0].view(), pair[1].view()

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError(f"{length} is not between 0 and {self.length}")
        for pair in self.layers:
            for array in pair:
                array.used = length
