"""Our fastest decode loop: what the benchmark calls "ours".

The model answer of part 10 (solution/decode_torch.py) is written to be read; this is written to be
fast. Both have the same functions and the same results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from solution.decode_torch import CapturedStep, grouped_attention, rotations, take_positions
from solution.torch_model import TorchTransformer, read_config, wants_rows
from solution.transformer import ModelConfig

from .c_step import CStep, can_step
from .device_step import device_step, rotate
from .host_step import HostStep


class RecordCache:
    """solution.decode_torch.StaticCache, in memory as our products read it.

    Attributes:
        keys_and_values: (L, 2, B, G, max_len, d_h); `keys` and `values` are views of it.
        step: buffers or graph of a decode step, made by the first one.
    """

    def __init__(
        self,
        config: Mapping | ModelConfig,
        batch_size: int,
        max_len: int,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        c = read_config(config)
        shape = (c.n_layers, 2, batch_size, c.n_kv_heads, max_len, c.head_dim)
        self.keys_and_values = _allocate(shape, device, dtype)
        self.keys = list(self.keys_and_values[:, 0])
        self.values = list(self.keys_and_values[:, 1])
        self.rotations = rotations(c.head_dim, c.rope_theta, max_len, dtype).to(device)
        self.length = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_size, self.max_len, self.n_held = batch_size, max_len, 0
        self.step: Any = None


def _allocate(shape: tuple[int, ...], device: Any, dtype: torch.dtype) -> Tensor:
    """Zeros (L, 2, B, G, max_len, d_h); where that reads faster, positions lie side by side.

    torch's own attention, which the other steps use, wants d_h side by side.
    """
    if wants_rows(device, dtype) or can_step(device, dtype, batch_size=shape[2]):
        *outer, max_len, head_dim = shape
        whole_lines = math.ceil(max_len / 32) * 32  # so that each feature's positions begin one
        return torch.zeros(*outer, head_dim, whole_lines, dtype=dtype)[..., :max_len].mT
    return torch.zeros(shape, device=device, dtype=dtype)


@torch.no_grad()
def prefill(model: TorchTransformer, tokens: Tensor, cache: RecordCache) -> Tensor:
    """solution.decode_torch.prefill: int64 (B, T) -> last logits (B, V)."""
    end = take_positions(cache, tokens.shape[1])
    start = end - tokens.shape[1]
    positions = torch.arange(end, device=tokens.device)
    mask = positions <= positions[start:, None]
    x = model.embed(tokens).to(cache.rotations.real.dtype)
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        q, k, v = model.project_qkv(layer, x)
        keys[:, :, start:end] = rotate(k, cache.rotations[start:end])
        values[:, :, start:end] = v
        q = rotate(q, cache.rotations[start:end])
        held = _by_position(keys[:, :, :end]), _by_position(values[:, :, :end])
        heads = grouped_attention(q, *held, mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    cache.length.fill_(end)
    return model.logits(x[:, -1])


def _by_position(x: Tensor) -> Tensor:
    """x (..., S, d_h), the numbers of a position side by side: what torch's attention wants."""
    return x if x.stride(-1) == 1 else x.contiguous()


@torch.no_grad()
def decode_step(
    model: TorchTransformer, token: Tensor, cache: RecordCache, on_device: Callable = device_step
) -> Tensor:
    """solution.decode_torch.decode_step: int64 (B,) -> (B, V), overwritten by the next step.

    Args:
        on_device: the step that is captured where the model is on a GPU.
    """
    take_positions(cache, 1)
    if cache.step is None or cache.step.params is not model.params:
        cache.step = _new_step(model, cache, on_device)
    return cache.step(token)


def _new_step(model: TorchTransformer, cache: RecordCache, on_device: Callable) -> Any:
    """The fastest step there is here: a graph, compiled C, or torch alone."""
    if model.device.type != "cpu":
        return CapturedStep(model, cache, on_device)
    return (CStep if can_step(model.device, model.dtype, cache.batch_size) else HostStep)(
        model, cache
    )


@torch.no_grad()
def generate(
    model: TorchTransformer, prompt: Tensor, max_new_tokens: int, on_device: Callable = device_step
) -> Tensor:
    """solution.decode_torch.generate: int64 (B, T) -> int64 (B, n)."""
    cache = kept_cache(RecordCache, model, len(prompt), prompt.shape[1] + max_new_tokens)

    def step(model: TorchTransformer, token: Tensor, cache: RecordCache) -> Tensor:
        return decode_step(model, token, cache, on_device)

    return greedy(model, prompt, max_new_tokens, cache, prefill, step)


def kept_cache(kind: type, model: Any, batch_size: int, max_len: int) -> Any:
    """An empty cache: the model's last one, with its graph, where that fits."""
    cache = model.kept.get((kind, batch_size))
    # A captured step reads all of a cache, under a mask, so it must not be far too large.
    if cache is None or not max_len <= cache.max_len <= 2 * max_len + 256:
        model.kept.clear()
        cache = kind(model.config, batch_size, max_len + 128, model.device, model.dtype)
        model.kept[kind, batch_size] = cache
    cache.n_held = 0
    cache.length.zero_()
    return cache


def greedy(
    model: Any, prompt: Tensor, n: int, cache: Any, prefill: Callable, decode_step: Callable
) -> Tensor:
    """The likeliest n tokens behind the prompt, int64 (B, n)."""
    generated = torch.empty((len(prompt), n), dtype=torch.int64, device=prompt.device)
    token = torch.empty(len(prompt), dtype=torch.int64, device=prompt.device)
    for i in range(n):
        logits = decode_step(model, token, cache) if i else prefill(model, prompt, cache)
        torch.argmax(logits, dim=-1, out=token)
        generated[:, i] = token
    return generated
