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
        ### BEGIN SOLUTION
        c = read_config(config)
        shape = (2, c.n_layers, batch_size, c.n_kv_heads, max_len, c.head_dim)
        keys, values = torch.zeros(shape, device=device, dtype=dtype)
        self.keys, self.values = list(keys), list(values)
        self.rotations = rotations(c.head_dim, c.rope_theta, max_len, dtype).to(device)
        self.length = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_size, self.max_len = batch_size, max_len
        # The host's own count: asking the device for `length` would wait for it to finish.
        self.n_held = 0
        self.step: CapturedStep | None = None  # on a GPU, made by the first decode step
        ### END SOLUTION


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
    ### BEGIN SOLUTION
    batch, n_heads, length, head_dim = q.shape
    n_groups = k.shape[1]
    mask = None
    if isinstance(length_or_mask, Tensor):
        mask = length_or_mask.expand(length, k.shape[2]).repeat(n_heads // n_groups, 1)
    else:
        k, v = k[:, :, :length_or_mask], v[:, :, :length_or_mask]
    # The R heads of a group are R more rows of queries to the same keys.
    rows = q.reshape(batch, n_groups, -1, head_dim)
    heads = F.scaled_dot_product_attention(rows, k, v, mask)
    return heads.reshape(batch, n_heads, length, head_dim)
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    end = take_positions(cache, tokens.shape[1])
    positions = torch.arange(end, device=tokens.device)
    return forward(model, tokens, cache, positions <= positions[-tokens.shape[1] :, None])
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    end = take_positions(cache, 1)
    if model.device.type == "cpu":
        return forward(model, token[:, None], cache, end)
    if cache.step is None or cache.step.params is not model.params:
        cache.step = CapturedStep(model, cache)
    return cache.step(token)
    ### END SOLUTION


@torch.no_grad()
def generate(model: TorchTransformer, prompt: Tensor, max_new_tokens: int) -> Tensor:
    """Greedy decoding: prefill once, then one decode step a token; the host never waits.

    Args:
        prompt: int64 (B, T).
        max_new_tokens: n, how many tokens to make.

    Returns:
        int64 (B, n) on the model's device: the new tokens without the prompt.
    """
    ### BEGIN SOLUTION
    cache = kept_cache(model, len(prompt), prompt.shape[1] + max_new_tokens)
    tokens, logits = [], prefill(model, prompt, cache)
    for i in range(max_new_tokens):
        if i:
            logits = decode_step(model, tokens[-1], cache)
        tokens.append(logits.argmax(-1))
    return torch.stack(tokens, dim=1) if tokens else prompt[:, :0]
    ### END SOLUTION


### BEGIN SOLUTION
def forward(model: Any, tokens: Tensor, cache: StaticCache, visible: int | Tensor) -> Tensor:
    """Logits (B, V) of the last of tokens (B, T), which take the next positions of the cache.

    `visible` is grouped_attention's length_or_mask; of a mask (T, S) the first S positions are
    read. Nothing is asked of the device, and with a mask no shape depends on the position.
    """
    n_read = visible.shape[-1] if isinstance(visible, Tensor) else visible
    positions = cache.length + torch.arange(tokens.shape[1], device=tokens.device)
    rotation = cache.rotations[positions]
    # The residual stream, the sum of all layers, is at least float32, whatever the weights are.
    x = model.embed(tokens).to(rotation.real.dtype)
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        q, k, v = model.project_qkv(layer, x)
        keys.index_copy_(2, positions, rotate(k, rotation))
        values.index_copy_(2, positions, v)
        held = keys[:, :, :n_read], values[:, :, :n_read]
        heads = grouped_attention(rotate(q, rotation), *held, visible)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    cache.length.add_(tokens.shape[1])
    return model.logits(x[:, -1])


def static_step(model: Any, token: Tensor, cache: StaticCache) -> Tensor:
    """A decode step of static shapes: all max_len positions are read, under a mask."""
    may_attend = torch.arange(cache.max_len, device=token.device) <= cache.length
    return forward(model, token[:, None], cache, may_attend[None])


class CapturedStep:
    """A step as a graph, all kernels launched at once; token and logits have fixed addresses."""

    def __init__(self, model: Any, cache: Any, step: Callable = static_step) -> None:
        self.params = model.params  # the graph reads them, so they must live as long as it does
        self.token = torch.zeros(cache.batch_size, dtype=torch.int64, device=model.device)
        length, side = cache.length.clone(), cuda.Stream()
        side.wait_stream(cuda.current_stream())
        # Of torch's kernels for attention, those that take a mask and plan nothing on the host.
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
            # Libraries allocate workspaces in their first calls, which must not be captured.
            with cuda.stream(side):
                for _ in range(3):
                    step(model, self.token, cache)
                    cache.length.copy_(length)
            cuda.current_stream().wait_stream(side)
            self.graph = cuda.CUDAGraph()
            with cuda.graph(self.graph):
                self.logits = step(model, self.token, cache)
        cache.length.copy_(length)

    def __call__(self, token: Tensor) -> Tensor:
        self.token.copy_(token)
        self.graph.replay()
        return self.logits


def kept_cache(model: TorchTransformer, batch_size: int, max_len: int) -> StaticCache:
    """An empty cache: the last one and its graph where it fits, since capturing takes long."""
    cache = model.kept.get(batch_size)
    # A captured step reads all of a cache, under a mask, so it must not be far too large.
    if cache is None or not max_len <= cache.max_len <= 2 * max_len + 256:
        model.kept.clear()
        cache = StaticCache(model.config, batch_size, max_len + 128, model.device, model.dtype)
        model.kept[batch_size] = cache
    cache.n_held = 0
    cache.length.zero_()
    return cache


def take_positions(cache: Any, n_new: int) -> int:
    """Count n_new more positions; where they end, if the cache has room for them."""
    end = cache.n_held + n_new
    if end > cache.max_len:
        raise ValueError(f"the cache would hold {end} positions, its max_len is {cache.max_len}")
    cache.n_held = end
    return end


def rotations(head_dim: int, theta: float, max_len: int, dtype: torch.dtype) -> Tensor:
    """e^(i * position * frequency) of every position and pair, complex (max_len, d_h/2).

    Angles are computed in float64: in bfloat16 positions beyond 256 would be confused.
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * theta**-exponents
    wide = torch.complex128 if dtype == torch.float64 else torch.complex64
    return torch.polar(torch.ones_like(angles), angles).to(wide)


def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """RoPE: neighbouring pairs of x (..., T, d_h) as complex numbers, times T rotations."""
    pairs = torch.view_as_complex(x.to(rotation.real.dtype).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


### END SOLUTION
