"""Part 4: the KV cache, prefill, decode and greedy generation (L2 §5; D3 "prefill 和 decode")."""

from __future__ import annotations

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .rope import apply_rope
from .transformer import Transformer


class KVCache:
    """Keys and values of every position a model has seen, layer by layer.

    Keys are stored already rotated: a key's position never changes, so it is rotated once.

    Source: L2 §5.2, §5.5.
    """

    def __init__(
        self,
        n_layers: int,
        batch_size: int,
        n_kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: np.dtype,
    ) -> None:
        """An empty cache with room for max_len positions of n_kv_heads heads per layer."""
        ### BEGIN SOLUTION
        shape = (n_layers, batch_size, n_kv_heads, max_len, head_dim)
        self._keys = np.empty(shape, dtype)
        self._values = np.empty(shape, dtype)
        self._lengths = [0] * n_layers
        ### END SOLUTION

    @property
    def length(self) -> int:
        """How many positions every layer holds: the position of the next token."""
        ### BEGIN SOLUTION
        return min(self._lengths)
        ### END SOLUTION

    def append(self, layer: int, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Write T >= 1 new positions behind those this layer holds.

        Args:
            layer: which layer they belong to.
            k, v: (B, G, T, d_h).

        Returns:
            All keys and all values this layer now holds, each (B, G, S, d_h), oldest first.

        Raises:
            ValueError: they do not fit into max_len positions.
        """
        ### BEGIN SOLUTION
        start, end = self._lengths[layer], self._lengths[layer] + k.shape[2]
        max_len = self._keys.shape[3]
        if end > max_len:
            raise ValueError(f"layer {layer} would hold {end} positions, the cache has {max_len}")
        self._keys[layer, :, :, start:end] = k
        self._values[layer, :, :, start:end] = v
        self._lengths[layer] = end
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]
        ### END SOLUTION

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions of every layer and forget the rest.

        Raises:
            ValueError: length is negative, or more than the cache holds.
        """
        ### BEGIN SOLUTION
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate to {length}: the cache holds {self.length}")
        self._lengths = [length] * len(self._lengths)
        ### END SOLUTION


def prefill(model: Transformer, tokens: np.ndarray, cache: KVCache) -> np.ndarray:
    """Run T tokens through the model, append their keys and values, return the last logits.

    A cache that already holds positions is continued: the first of `tokens` takes position
    cache.length and attends to everything cached.

    Args:
        tokens: int (B, T).

    Returns:
        Logits (B, V) of the last position.

    Source: L2 §5.1-5.2; D3 "从 attention 推出 prefill 和 decode".
    """
    ### BEGIN SOLUTION
    start, length = cache.length, tokens.shape[1]
    positions = np.arange(start, start + length)
    mask = causal_mask(length, start + length)
    x = model.embed(tokens)
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        keys, values = cache.append(layer, k, v)
        heads = grouped_query_attention(q, keys, values, mask)
        x = model.add_attention(layer, x, heads)
        x = model.add_mlp(layer, x)
    return model.logits(x[:, -1])
    ### END SOLUTION


def decode_step(model: Transformer, token: np.ndarray, cache: KVCache) -> np.ndarray:
    """Run one new token per row through the model, reading everything older from the cache.

    Args:
        token: int (B,), at position cache.length.

    Returns:
        Logits (B, V) for the token after it.

    Source: L2 §5.2-5.3.
    """
    ### BEGIN SOLUTION
    # A decode step is a prefill of one token: same positions, same order, T = 1.
    return prefill(model, token[:, None], cache)
    ### END SOLUTION


def generate(
    model: Transformer, prompt: np.ndarray, max_new_tokens: int, eos: int | None = None
) -> np.ndarray:
    """Greedy decoding: prefill the prompt once, then one decode step a token.

    Args:
        prompt: int (B, T).
        max_new_tokens: how many tokens to make at most, 1 or more.
        eos: the token that ends a row. A row that has ended is filled up with eos; generation
            stops as soon as every row has ended.

    Returns:
        int (B, n), n <= max_new_tokens: the new tokens without the prompt.

    Source: L2 §5.1.
    """
    ### BEGIN SOLUTION
    batch, length = prompt.shape
    config = model.config
    cache = KVCache(
        config.n_layers,
        batch,
        config.n_kv_heads,
        length + max_new_tokens,
        config.head_dim,
        model.dtype,
    )
    ended = np.zeros(batch, dtype=bool)
    generated: list[np.ndarray] = []
    while len(generated) < max_new_tokens and not ended.all():
        if generated:
            logits = decode_step(model, generated[-1], cache)
        else:
            logits = prefill(model, prompt, cache)
        token = logits.argmax(axis=-1)
        if eos is not None:
            token = np.where(ended, eos, token)
            ended |= token == eos
        generated.append(token)
    return np.stack(generated, axis=1) if generated else np.empty((batch, 0), dtype=prompt.dtype)
    ### END SOLUTION
