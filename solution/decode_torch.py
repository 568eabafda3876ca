"""Part 10: the fast decode loop in torch (L2 §4.5, §5.6). The handout is PART10.md.

A decode step reads every weight and the cache once and computes little with them, so its time is
that of reading. What slows it down beyond that are the copies, the allocations, the launches and
the waiting that a step does not need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor

from .torch_model import (
    TorchMLATransformer,
    TorchTransformer,
    read_config,
    rms_norm,
    wants_rows,
)
from .transformer import MLAConfig, ModelConfig


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
        shape = (c.n_layers, 2, batch_size, c.n_kv_heads, max_len, c.head_dim)
        self.keys_and_values = _allocate(shape, device, dtype)
        self.keys = list(self.keys_and_values[:, 0])
        self.values = list(self.keys_and_values[:, 1])
        self.rotations = _rotations(c.head_dim, c.rope_theta, max_len, device, dtype)
        self.length = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_size, self.max_len = batch_size, max_len
        # The host's own count: asking the device for `length` would wait for it to finish.
        self.n_held = 0
        self.step: Any = None  # buffers or graph of a decode step, made by the first one
        ### END SOLUTION


### BEGIN SOLUTION
def _allocate(shape: tuple[int, ...], device: Any, dtype: torch.dtype) -> Tensor:
    """Zeros (..., max_len, d_h); where matrices lie in rows, positions lie side by side.

    Scores of 4096 positions then take 140 us and not 156 on two cores, values 92 and not 113.
    torch's own attention wants d_h side by side.
    """
    if wants_rows(device, dtype):
        *outer, max_len, head_dim = shape
        return torch.zeros(*outer, head_dim, max_len, dtype=dtype).mT
    return torch.zeros(shape, device=device, dtype=dtype)


def _rotations(
    head_dim: int, theta: float, max_len: int, device: Any, dtype: torch.dtype
) -> Tensor:
    """e^(i * position * frequency) of every position and pair, complex (max_len, d_h/2).

    Angles are computed in float64: in bfloat16 positions beyond 256 would be confused.
    """
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
    angles = torch.arange(max_len, dtype=torch.float64)[:, None] * theta**-exponents
    rotations = torch.polar(torch.ones_like(angles), angles)
    wide = torch.complex128 if dtype == torch.float64 else torch.complex64
    return rotations.to(device=device, dtype=wide)


def _rotate(x: Tensor, rotations: Tensor) -> Tensor:
    """RoPE: neighbouring pairs of x (..., T, d_h) as complex numbers, times T rotations."""
    wide = x.double() if rotations.dtype == torch.complex128 else x.float()
    if torch.compiler.is_compiling():  # which fuses real arithmetic, and no complex one
        (even, odd), (cos, sin) = wide.unflatten(-1, (-1, 2)).unbind(-1), _parts(rotations)
        turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
        return turned.flatten(-2).to(x.dtype)
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * rotations).flatten(-2).to(x.dtype)


def _parts(rotations: Tensor) -> tuple[Tensor, ...]:
    """Cosines and sines of complex rotations."""
    return torch.view_as_real(rotations).unbind(-1)


def _claim(cache: StaticCache | MLAStaticCache, n_new: int) -> tuple[int, int]:
    """The positions that n_new tokens take, start and end, if the cache has room for them."""
    start, end = cache.n_held, cache.n_held + n_new
    if end > cache.max_len:
        raise ValueError(f"the cache would hold {end} positions, its max_len is {cache.max_len}")
    return start, end


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
    start, end = _claim(cache, tokens.shape[1])
    mask = _causal_mask(start, end, tokens.device)
    x = model.embed(tokens)
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        q, k, v = model.project_qkv(layer, x)
        keys[:, :, start:end] = _rotate(k, cache.rotations[start:end])
        values[:, :, start:end] = v
        q = _rotate(q, cache.rotations[start:end])
        held = _by_position(keys[:, :, :end]), _by_position(values[:, :, :end])
        heads = grouped_attention(q, *held, mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    cache.n_held = end
    cache.length.fill_(end)
    return model.logits(x[:, -1])
    ### END SOLUTION


### BEGIN SOLUTION
def _by_position(x: Tensor) -> Tensor:
    """x (..., S, d_h), the numbers of a position side by side: what torch's attention wants."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _causal_mask(start: int, end: int, device: torch.device) -> Tensor:
    """bool (T, S): query i stands at position start + i."""
    positions = torch.arange(end, device=device)
    return positions <= positions[start:, None]


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
    _claim(cache, 1)
    if cache.step is None or cache.step.model is not model:
        kind = HostStep if model.device.type == "cpu" else GraphStep
        cache.step = kind(model, cache)
    logits = cache.step(token)
    cache.n_held += 1
    return logits
    ### END SOLUTION


### BEGIN SOLUTION
class HostStep:
    """A decode step on a CPU: every product writes into a buffer that was made once.

    What is small costs as much as a matrix here: to slice or reshape a tensor takes as long as a
    norm's arithmetic. So views of buffers are made with the step, and those that depend on the
    position once for all layers.

    The residual stream x and the norms are at least float32, whatever the weights are.
    """

    def __init__(self, model: TorchTransformer, cache: StaticCache) -> None:
        c, dtype, batch = model.config, model.dtype, cache.batch_size
        self.model, self.cache = model, cache
        self.is_half = dtype in (torch.bfloat16, torch.float16)
        self.wide = torch.float32 if self.is_half else dtype
        self._make_stream(batch, c)
        self._make_heads(batch, c)
        self.gate_up = self._buffer(batch, 2 * c.d_ff)
        self.gate, self.up = self.gate_up.chunk(2, dim=1)
        self.gated = self._buffer(batch, c.d_ff)
        self.layers = [self._layer(layer) for layer in range(c.n_layers)]
        self.final_norm = model.params["final_norm"].unsqueeze(0)
        self.logits = self._buffer(batch, c.vocab_size)
        self.project_logits = product(self.h, model.output_matrix, self.logits)

    @torch.inference_mode()  # so that autograd is not asked about every operation
    def __call__(self, token: Tensor) -> Tensor:
        model, cache = self.model, self.cache
        rotation = cache.rotations[cache.n_held]
        places = cache.keys_and_values[:, :, :, :, cache.n_held].unbind(0)
        attend = self._attention(cache.n_held + 1)
        torch.index_select(model.params["embedding"], 0, token, out=self.embedded)
        if self.is_half:
            self.x.copy_(self.embedded)
        for index, layer in enumerate(self.layers):
            self._norm(layer.attention_norm)
            layer.project_qkv()
            self._rotate(rotation)
            places[index].copy_(self.new)
            attend(index)
            layer.add_attention()
            self._norm(layer.mlp_norm)
            layer.project_gate_up()
            torch.mul(F.silu(self.gate, inplace=True), self.up, out=self.gated)
            layer.add_mlp()
        self._norm(self.final_norm)
        self.project_logits()
        cache.length.add_(1)
        return self.logits

    def _buffer(self, *shape: int, dtype: torch.dtype | None = None) -> Tensor:
        return torch.empty(shape, dtype=dtype or self.model.dtype)

    def _layer(self, index: int) -> HostLayer:
        # Norm weights as rows (1, d): to broadcast a vector takes longer than to multiply it.
        params, prefix = self.model.params, f"layers.{index}"
        w_qkv, w_gate_up = (self.model.fused[f"{prefix}.{n}"] for n in ("w_qkv", "w_gate_up"))
        return HostLayer(
            attention_norm=params[f"{prefix}.attention_norm"].unsqueeze(0),
            project_qkv=product(self.h, w_qkv, self.qkv),
            add_attention=self._adding(self.heads, params[f"{prefix}.w_o"]),
            mlp_norm=params[f"{prefix}.mlp_norm"].unsqueeze(0),
            project_gate_up=product(self.h, w_gate_up, self.gate_up),
            add_mlp=self._adding(self.gated, params[f"{prefix}.w_down"]),
        )

    def _adding(self, hidden: Tensor, w: Tensor) -> Callable[[], Tensor]:
        """What adds hidden @ w to the residual stream."""
        if not self.is_half:
            return partial(self.x.addmm_, hidden, w)
        multiply = product(hidden, w, self.change)
        return lambda: self.x.add_(multiply())

    def _make_stream(self, batch: int, c: ModelConfig) -> None:
        """The residual stream x, what is added to it, and its norm h."""
        self.embedded = self._buffer(batch, c.d_model)
        self.h = self._buffer(batch, c.d_model)
        self.x, self.h_wide = self.embedded, self.h
        if self.is_half:
            self.change = self._buffer(batch, c.d_model)
            self.x = self._buffer(batch, c.d_model, dtype=self.wide)
            self.h_wide = self._buffer(batch, c.d_model, dtype=self.wide)
        self.x_row = self.x.unsqueeze(1)
        self.x_column = self.x_row.mT
        self.eps = torch.full((batch, 1, 1), c.norm_eps, dtype=self.wide)
        self.scale = self._buffer(batch, 1, 1, dtype=self.wide)
        self.scale_of_row = self.scale[:, 0]

    def _norm(self, weight: Tensor) -> None:
        """h = x / sqrt(mean(x^2) + eps) * weight; the mean and eps are one product."""
        row, mean = self.x_row, 1 / self.x.shape[1]
        torch.baddbmm(self.eps, row, self.x_column, alpha=mean, out=self.scale).rsqrt_()
        torch.mul(self.x, self.scale_of_row, out=self.h_wide)
        torch.mul(self.h_wide, weight, out=self.h)

    def _make_heads(self, batch: int, c: ModelConfig) -> None:
        """The projections as heads, (B, H + 2G, d_h), and what attention needs."""
        n_rotated, group = c.n_heads + c.n_kv_heads, c.n_heads // c.n_kv_heads
        self.qkv = self._buffer(batch, (n_rotated + c.n_kv_heads) * c.head_dim)
        heads = self.qkv.view(batch, -1, c.head_dim)
        self.to_rotate = heads[:, :n_rotated]
        self.rotated = self.to_rotate
        if self.is_half:
            self.rotated = self._buffer(batch, n_rotated, c.head_dim, dtype=self.wide)
        self.pairs = torch.view_as_complex(self.rotated.unflatten(-1, (-1, 2)))
        # (2, B, G, d_h), as a position of the cache is.
        self.new = heads[:, c.n_heads :].view(batch, 2, c.n_kv_heads, -1).transpose(0, 1)
        # The R queries of a group are rows of one product with its keys.
        self.q = heads[:, : c.n_heads].view(batch, c.n_kv_heads, group, c.head_dim)
        rows = (batch * c.n_kv_heads, group)
        self.q_rows, self.q_of_rows = self.q[0], self.q
        if batch > 1:  # then their strides do not fit one product
            self.q_rows = self._buffer(*rows, c.head_dim)
            self.q_of_rows = self.q_rows.view(self.q.shape)
        self.heads = self._buffer(batch, c.n_heads * c.head_dim)
        self.heads_of_q = self.heads.view(self.q.shape)
        self.heads_of_rows = self.heads.view(*rows, -1)
        self.scores_and_weights = self._buffer(2, math.prod(rows) * self.cache.max_len)
        # (L, B*G, d_h, max_len) and (L, B*G, max_len, d_h).
        keys, self.values = self.cache.keys_and_values.flatten(2, 3).unbind(1)
        self.keys = keys.mT

    def _rotate(self, rotation: Tensor) -> None:
        if self.is_half:
            self.rotated.copy_(self.to_rotate)
        self.pairs.mul_(rotation)
        if self.is_half:
            self.to_rotate.copy_(self.rotated)

    def _attention(self, length: int) -> Callable[[int], None]:
        """What computes a layer's heads (B, H*d_h) over the first `length` positions."""
        if self.is_half:
            both = self.cache.keys_and_values[:, :, :, :, :length].unbind(0)

            # The products below would round scores to bfloat16; this keeps them in float32.
            def attend_in_half(layer: int) -> None:
                self.heads_of_q.copy_(F.scaled_dot_product_attention(self.q, *both[layer]))

            return attend_in_half
        keys = self.keys[..., :length].unbind(0)
        values = self.values[:, :, :length].unbind(0)
        shape = (*self.q_rows.shape[:2], length)
        buffers = self.scores_and_weights[:, : math.prod(shape)].view(2, *shape)
        scores, weights = buffers.unbind(0)
        scale = self.q.shape[-1] ** -0.5

        def attend(layer: int) -> None:
            if self.q_of_rows is not self.q:
                self.q_of_rows.copy_(self.q)
            torch.baddbmm(scores, self.q_rows, keys[layer], beta=0, alpha=scale, out=scores)
            torch.softmax(scores, dim=-1, out=weights)
            torch.bmm(weights, values[layer], out=self.heads_of_rows)

        return attend


@dataclass(frozen=True)
class HostLayer:
    """A layer's norms, and its products between buffers that never move."""

    attention_norm: Tensor
    project_qkv: Callable[[], Tensor]
    add_attention: Callable[[], Tensor]
    mlp_norm: Tensor
    project_gate_up: Callable[[], Tensor]
    add_mlp: Callable[[], Tensor]


def product(x: Tensor, w: Tensor, out: Tensor) -> Callable[[], Tensor]:
    """x (B, d_in) @ w (d_in, d_out), written to `out` by each call, the fastest way for these."""
    if len(x) == 1 and x.dtype == torch.bfloat16:
        return partial(torch.mv, w.t(), x[0], out=out[0])
    return partial(torch.mm, x, w, out=out)


# Whether torch.compile fuses a step's small kernels before it is captured. That needs Triton, a C
# compiler and half a minute, once.
COMPILE = False


class GraphStep:
    """A decode step whose kernels are launched all at once, by replaying a captured graph.

    The token goes in and the logits come out at fixed addresses; position and mask are computed
    on the device from cache.length, which the graph itself advances. The host never waits.
    """

    def __init__(self, model: Any, cache: Any, work: Callable | None = None) -> None:
        work = work or device_step
        if COMPILE:
            work = torch.compile(work, dynamic=False)
        self.model, self.cache, self.work = model, cache, work
        self.token = torch.zeros(cache.batch_size, dtype=torch.int64, device=model.device)
        self.logits: Tensor | None = None
        # Capturing runs the step; the keys it writes lie at the position that is written next.
        length = cache.length.clone()
        self.replay = capture(self._run, before_each=lambda: cache.length.copy_(length))
        cache.length.copy_(length)

    def _run(self) -> None:
        self.logits = self.work(self.model, self.token, self.cache)

    def __call__(self, token: Tensor) -> Tensor:
        self.token.copy_(token)
        self.replay()
        return self.logits


def capture(
    work: Callable[[], None],
    before_each: Callable[[], None],
    cuda: Any = torch.cuda,
    warm_ups: int = 3,
) -> Callable[[], None]:
    """Record the kernels that `work` launches; what is returned launches them again.

    The only function that knows CUDA. Libraries allocate their workspaces in the first calls,
    which must not be captured: hence the warm-ups, on a stream of their own as capture demands.
    """
    before_each()
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        for _ in range(warm_ups):
            work()
            before_each()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        work()
    before_each()
    return graph.replay


def device_step(model: TorchTransformer, token: Tensor, cache: StaticCache) -> Tensor:
    """A decode step of static shapes that asks the host nothing; runs on any device."""
    c, params, fused = model.config, model.params, model.fused
    n_rotated, group = c.n_heads + c.n_kv_heads, c.n_heads // c.n_kv_heads
    position = cache.length.view(1)
    rotation = cache.rotations.index_select(0, position)
    may_attend = (torch.arange(cache.max_len, device=token.device) <= position)[None]
    x = params["embedding"][token]
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        h = rms_norm(x, params[f"layers.{layer}.attention_norm"], c.norm_eps)
        heads = (h @ fused[f"layers.{layer}.w_qkv"]).unflatten(1, (-1, 1, c.head_dim))
        rotated = _rotate(heads[:, :n_rotated], rotation)
        keys.index_copy_(2, position, rotated[:, c.n_heads :])
        values.index_copy_(2, position, heads[:, n_rotated:])
        # The R heads of a group as rows, as in grouped_attention.
        rows = rotated[:, : c.n_heads].reshape(len(x), c.n_kv_heads, group, c.head_dim)
        mixed = F.scaled_dot_product_attention(rows, keys, values, may_attend)
        x = x + mixed.reshape(len(x), -1) @ params[f"layers.{layer}.w_o"]
        x = model.add_mlp(layer, x)
    cache.length.add_(1)
    return model.logits(x)


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
    cache = _kept_cache(StaticCache, model, len(prompt), prompt.shape[1] + max_new_tokens)
    return _greedy(model, prompt, max_new_tokens, cache, prefill, decode_step)
    ### END SOLUTION


### BEGIN SOLUTION
def _kept_cache(kind: type, model: Any, batch: int, max_len: int) -> Any:
    """An empty cache; the last one again, with its captured graph, if that has the right size.

    Capturing takes as long as dozens of steps. What an old text left in the cache is masked.
    """
    max_len = math.ceil(max_len / 128) * 128  # so that most generations find one that fits
    key = (kind, batch, max_len)
    if key not in model.kept:
        model.kept.clear()
        model.kept[key] = kind(model.config, batch, max_len, model.device, model.dtype)
    cache = model.kept[key]
    cache.n_held = 0
    cache.length.zero_()
    return cache


def _greedy(
    model: Any, prompt: Tensor, n: int, cache: Any, prefill: Callable, decode_step: Callable
) -> Tensor:
    generated = torch.empty((len(prompt), n), dtype=torch.int64, device=prompt.device)
    token = torch.empty(len(prompt), dtype=torch.int64, device=prompt.device)
    for i in range(n):
        logits = decode_step(model, token, cache) if i else prefill(model, prompt, cache)
        torch.argmax(logits, dim=-1, out=token)
        generated[:, i] = token
    return generated


class MLAStaticCache:
    """Normed latents and rotated RoPE keys in memory that never moves.

    Attributes:
        entries: one (B, max_len, d_c + d_R) for each layer: latent, then RoPE key, so that one
            product takes both parts of the scores.
        length: as StaticCache's.

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
        self.rotations = _rotations(c.rope_dim, c.rope_theta, max_len, device, dtype)
        self.length = torch.zeros((), dtype=torch.int64, device=device)
        self.batch_size, self.max_len, self.n_held = batch_size, max_len, 0
        self.step: Any = None


@torch.no_grad()
def mla_prefill(model: TorchMLATransformer, tokens: Tensor, cache: MLAStaticCache) -> Tensor:
    """prefill for a latent-attention model: int64 (B, T) -> last logits (B, V)."""
    start, end = _claim(cache, tokens.shape[1])
    positions = torch.arange(start, end, device=tokens.device)
    mask = _causal_mask(start, end, tokens.device)
    logits = _mla_forward(model, tokens, cache, positions, mask)
    cache.n_held = end
    cache.length.fill_(end)
    return logits


@torch.no_grad()
def mla_decode_step(model: TorchMLATransformer, token: Tensor, cache: MLAStaticCache) -> Tensor:
    """decode_step for a latent-attention model, W_uk and W_uv absorbed: (B,) -> (B, V)."""
    _, end = _claim(cache, 1)
    if model.device.type == "cpu":
        mask = torch.ones(1, end, dtype=torch.bool)
        logits = _mla_forward(model, token[:, None], cache, cache.length.view(1), mask)
        cache.length.add_(1)
    else:
        if cache.step is None or cache.step.model is not model:
            cache.step = GraphStep(model, cache, mla_device_step)
        logits = cache.step(token)
    cache.n_held += 1
    return logits


def mla_device_step(model: TorchMLATransformer, token: Tensor, cache: MLAStaticCache) -> Tensor:
    """device_step for a latent-attention model."""
    position = cache.length.view(1)
    mask = torch.arange(cache.max_len, device=token.device)[None] <= position
    logits = _mla_forward(model, token[:, None], cache, position, mask)
    cache.length.add_(1)
    return logits


@torch.no_grad()
def mla_generate(model: TorchMLATransformer, prompt: Tensor, max_new_tokens: int) -> Tensor:
    """generate for a latent-attention model."""
    cache = _kept_cache(MLAStaticCache, model, len(prompt), prompt.shape[1] + max_new_tokens)
    return _greedy(model, prompt, max_new_tokens, cache, mla_prefill, mla_decode_step)


def _mla_forward(
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
        new = torch.cat([latent, _rotate(k_rope, rotation)], dim=-1)
        entries.index_copy_(1, positions, new)
        held = entries[:, : mask.shape[1]]
        q_rope = _rotate(q_rope, rotation)
        heads = _mla_absorbed(q_nope, q_rope, held, *model.up_projections(layer), mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return model.logits(x[:, -1])


def _mla_absorbed(
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


### END SOLUTION
