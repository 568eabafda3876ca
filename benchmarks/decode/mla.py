"""The decode loop of a latent-attention model, its up projections absorbed. No task asks for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from solution.decode_torch import CapturedStep, rotate, rotations, take_positions
from solution.torch_model import TorchMLATransformer, read_config
from solution.transformer import MLAConfig

from .record import greedy, kept_cache


class MLAStaticCache:
    """Normed latents and rotated RoPE keys in memory that never moves.

    Attributes:
        entries: one (B, max_len, d_c + d_R) for each layer: latent, then RoPE key, so that one
            product takes both parts of the scores.
        length: as solution.decode_torch.StaticCache's.

    Source: L2 §6.4.
    """

    def __init__(
        self,
        config: Mapping | MLAConfig,
        batch_size: int,
        max_len: int,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """An empty cache with room for max_len positions."""
        c = read_config(config)
        shape = (c.n_layers, batch_size, max_len, c.latent_dim + c.rope_dim)
        self.entries = list(torch.zeros(shape, device=device, dtype=dtype))
        self.rotations = rotations(c.rope_dim, c.rope_theta, max_len, dtype).to(device)
        self.length = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_size, self.max_len, self.n_held = batch_size, max_len, 0
        self.step: Any = None


@torch.no_grad()
def mla_prefill(model: TorchMLATransformer, tokens: Tensor, cache: MLAStaticCache) -> Tensor:
    """prefill for a latent-attention model: int64 (B, T) -> last logits (B, V)."""
    end = take_positions(cache, tokens.shape[1])
    held = torch.arange(end, device=tokens.device)
    positions = held[-tokens.shape[1] :]
    logits = _forward(model, tokens, cache, positions, held <= positions[:, None])
    cache.length.fill_(end)
    return logits


@torch.no_grad()
def mla_decode_step(model: TorchMLATransformer, token: Tensor, cache: MLAStaticCache) -> Tensor:
    """decode_step for a latent-attention model, W_uk and W_uv absorbed: (B,) -> (B, V)."""
    end = take_positions(cache, 1)
    if model.device.type == "cpu":
        mask = torch.ones(1, end, dtype=torch.bool)
        logits = _forward(model, token[:, None], cache, cache.length.view(1), mask)
        cache.length.add_(1)
    else:
        if cache.step is None or cache.step.params is not model.params:
            cache.step = CapturedStep(model, cache, mla_device_step)
        logits = cache.step(token)
    return logits


def mla_device_step(model: TorchMLATransformer, token: Tensor, cache: MLAStaticCache) -> Tensor:
    """device_step for a latent-attention model."""
    position = cache.length.view(1)
    mask = torch.arange(cache.max_len, device=token.device)[None] <= position
    logits = _forward(model, token[:, None], cache, position, mask)
    cache.length.add_(1)
    return logits


@torch.no_grad()
def mla_generate(model: TorchMLATransformer, prompt: Tensor, max_new_tokens: int) -> Tensor:
    """generate for a latent-attention model."""
    cache = kept_cache(MLAStaticCache, model, len(prompt), prompt.shape[1] + max_new_tokens)
    return greedy(model, prompt, max_new_tokens, cache, mla_prefill, mla_decode_step)


def _forward(
    model: TorchMLATransformer,
    tokens: Tensor,
    cache: MLAStaticCache,
    positions: Tensor,
    mask: Tensor,
) -> Tensor:
    """tokens (B, T) at `positions` (T,), which may see what mask (T, S) allows -> (B, V)."""
    rotation = cache.rotations.index_select(0, positions)
    x = model.embed(tokens)
    for layer, entries in enumerate(cache.entries):
        q_nope, q_rope, latent, k_rope = model.project_latent(layer, x)
        latent = model.norm_latent(layer, latent)
        new = torch.cat([latent, rotate(k_rope, rotation)], dim=-1)
        entries.index_copy_(1, positions, new)
        held = entries[:, : mask.shape[1]]
        q_rope = rotate(q_rope, rotation)
        heads = _absorbed(q_nope, q_rope, held, *model.up_projections(layer), mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return model.logits(x[:, -1])


def _absorbed(
    q_nope: Tensor, q_rope: Tensor, held: Tensor, w_uk: Tensor, w_uv: Tensor, mask: Tensor
) -> Tensor:
    """Attention over latents and RoPE keys, held (B, S, d_c + d_R) -> (B, H, T, d_v).

    All heads read the one latent: they are H * T rows of queries to the same keys.
    """
    _, n_heads, length, nope_dim = q_nope.shape
    latent_dim = w_uk.shape[0]
    w_uk = w_uk.unflatten(1, (n_heads, -1)).permute(1, 2, 0)
    w_uv = w_uv.unflatten(1, (n_heads, -1)).transpose(0, 1)
    q = torch.cat([q_nope @ w_uk, q_rope], dim=-1).flatten(1, 2)
    scores = q @ held.mT / math.sqrt(nope_dim + q_rope.shape[-1])
    scores = scores.unflatten(1, (n_heads, length)).masked_fill(~mask, -math.inf)
    mixed = scores.softmax(dim=-1).flatten(1, 2) @ held[..., :latent_dim]
    return mixed.unflatten(1, (n_heads, length)) @ w_uv
