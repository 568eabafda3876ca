# Generated from solution/kv_cache.py by `make assignment`; a change belongs there.
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
        raise NotImplementedError("Part 4.1 KVCache.__init__: see README.md §4.1")

    @property
    def length(self) -> int:
        """How many positions every layer holds: the position of the next token."""
        raise NotImplementedError("Part 4.1 KVCache.length: see README.md §4.1")

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
        raise NotImplementedError("Part 4.1 KVCache.append: see README.md §4.1")

    def truncate(self, length: int) -> None:
        """Keep the first `length` positions of every layer and forget the rest.

        Raises:
            ValueError: length is negative, or more than the cache holds.
        """
        raise NotImplementedError("Part 4.1 KVCache.truncate: see README.md §4.1")


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
    raise NotImplementedError("Part 4.2 prefill: see README.md §4.2")


def decode_step(model: Transformer, token: np.ndarray, cache: KVCache) -> np.ndarray:
    """Run one new token per row through the model, reading everything older from the cache.

    Args:
        token: int (B,), at position cache.length.

    Returns:
        Logits (B, V) for the token after it.

    Source: L2 §5.2-5.3.
    """
    raise NotImplementedError("Part 4.3 decode_step: see README.md §4.3")


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
    raise NotImplementedError("Part 4.4 generate: see README.md §4.4")
