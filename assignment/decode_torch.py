# Generated from solution/decode_torch.py by `make assignment`; a change belongs there.
"""Part 10: the fast decode loop in torch (L2 §4.5, §5.6). The handout is PART10.md.

A decode step reads every weight and the cache once and computes little with them, so its time is
that of reading. What slows it down beyond that are the copies, the allocations, the launches and
the waiting that a step does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor, cuda
from torch.nn.attention import SDPBackend, sdpa_kernel

from .torch_model import TorchTransformer, read_config
from .transformer import ModelConfig


class StaticCache:
    """Keys and values in memory that is allocated once and never moves.

    Attributes:
        keys, values: one (B, G, max_len, d_h) for each layer, keys already rotated.
        length: how many positions are held, an int64 tensor () on the cache's device: a step that
            was captured in a graph reads it there, and a Python number would be frozen in it.

    Source: L2 §5.2, §5.5.
    """

    def __init__(
        self,
        config: Mapping | ModelConfig,
        batch_size: int,
        max_len: int,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """An empty cache; unused positions are finite, since a mask multiplies them by zero."""
        raise NotImplementedError("Part 10.1 StaticCache.__init__: see PART10.md §10.1")


def grouped_attention(q: Tensor, k: Tensor, v: Tensor, length_or_mask: int | Tensor) -> Tensor:
    """Attention in which query head h reads key/value head h // R, where K and V lie.

    Args:
        q: (B, H, T, d_h).
        k, v: (B, G, S, d_h), the whole static cache of a layer.
        length_or_mask: an int: attend to the first `length` positions and read no others.
            Or bool, broadcastable to (T, S); True = may attend. Then all S are read, and the
            shapes of a step never change.

    Returns:
        (B, H, T, d_h).

    Neither K nor V is copied: not R times, and not once.

    Source: Ainslie et al. 2023 §2.2; L2 §6.2.
    """
    raise NotImplementedError("Part 10.2 grouped_attention: see PART10.md §10.2")


@torch.no_grad()
def prefill(model: TorchTransformer, tokens: Tensor, cache: StaticCache) -> Tensor:
    """Run T tokens through the model and write their keys and values behind those held.

    Args:
        tokens: int64 (B, T).

    Returns:
        Logits (B, V) of the last position.

    Raises:
        ValueError: they do not fit into the cache.
    """
    raise NotImplementedError("Part 10.3 prefill: see PART10.md §10.3")


@torch.no_grad()
def decode_step(model: TorchTransformer, token: Tensor, cache: StaticCache) -> Tensor:
    """Run one new token per row through the model, at position cache.length.

    Every tensor has the same shape and address in each step, so that the step can be captured.

    Args:
        token: int64 (B,).

    Returns:
        Logits (B, V). The next step may overwrite them.

    Raises:
        ValueError: the cache is full.
    """
    raise NotImplementedError("Part 10.4 decode_step: see PART10.md §10.4")


@torch.no_grad()
def generate(model: TorchTransformer, prompt: Tensor, max_new_tokens: int) -> Tensor:
    """Greedy decoding: prefill once, then one decode step a token; the host never waits.

    Args:
        prompt: int64 (B, T).
        max_new_tokens: n, how many tokens to make.

    Returns:
        int64 (B, n) on the model's device: the new tokens without the prompt.
    """
    raise NotImplementedError("Part 10.5 generate: see PART10.md §10.5")
