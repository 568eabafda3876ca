"""Tokens are int32 inside and out; the sequence is one array that is filled from the left."""

import numpy as np

from .decoding import decode_step, prefill


class KVCache:
    def __init__(self, n_layers, batch_size, n_kv_heads, max_len, head_dim, dtype):
        shape = (n_layers, batch_size, n_kv_heads, max_len, head_dim)
        self.keys, self.values = np.zeros(shape, dtype), np.zeros(shape, dtype)
        self.lengths = np.zeros(n_layers, dtype=np.int32)

    @property
    def length(self):
        return np.int32(self.lengths.min())

    def append(self, layer, k, v):
        start = self.lengths[layer].item()
        end = start + k.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError("the cache is too short")
        self.keys[layer, ..., start:end, :] = k
        self.values[layer, ..., start:end, :] = v
        self.lengths[layer] = end
        return self.keys[layer, ..., :end, :], self.values[layer, ..., :end, :]

    def truncate(self, length):
        if length < 0 or length > self.length:
            raise ValueError("truncate only shortens")
        self.lengths[:] = length


def generate(model, prompt, max_new_tokens, eos=None):
    batch, n = prompt.shape
    c = model.config
    cache = KVCache(c.n_layers, batch, c.n_kv_heads, n + max_new_tokens, c.head_dim, model.dtype)
    sequence = np.full((batch, n + max_new_tokens), -1 if eos is None else eos, dtype=np.int32)
    sequence[:, :n] = prompt
    running = np.arange(batch, dtype=np.int32)
    logits = prefill(model, sequence[:, :n], cache)
    for end in range(n, n + max_new_tokens):
        sequence[running, end] = logits[running].argmax(axis=1)
        if eos is not None:
            running = running[sequence[running, end] != eos]
        if len(running) == 0:
            return sequence[:, n : end + 1]
        if end + 1 < n + max_new_tokens:
            logits = decode_step(model, sequence[:, end], cache)
    return sequence[:, n:]
