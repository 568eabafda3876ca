"""A decode step on a CPU, in torch alone: a fixed list of products into buffers made once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor

from solution.torch_model import TorchTransformer
from solution.transformer import ModelConfig

from . import products
from .products import Product

if TYPE_CHECKING:
    from .record import RecordCache


class HostStep:
    """A decode step on a CPU: every product writes into a buffer that was made once.

    What is small costs as much as a matrix here: to slice or reshape a tensor takes as long as a
    norm's arithmetic. So views of buffers are made with the step, and those that depend on the
    position once for all layers.

    The residual stream x and the norms are at least float32, whatever the weights are.
    """

    def __init__(self, model: TorchTransformer, cache: RecordCache) -> None:
        c, dtype, batch = model.config, model.dtype, cache.batch_size
        self.model, self.params, self.cache = model, model.params, cache
        self.is_half = dtype in (torch.bfloat16, torch.float16)
        self.wide = torch.float32 if self.is_half else dtype
        self._make_stream(batch, c)
        self._make_heads(batch, c)
        self.gate_up = self._buffer(batch, 2 * c.d_ff)
        self.gate, self.up = self.gate_up.chunk(2, dim=1)
        self.gated = self._buffer(batch, c.d_ff)
        # Chosen once, by the clock: what is fastest differs from machine to machine.
        self.way = products.fastest([*model.fused.values(), model.output_matrix], batch)
        self.layers = [self._layer(layer) for layer in range(c.n_layers)]
        self.final_norm = model.params["final_norm"].unsqueeze(0)
        self.logits = self._buffer(batch, c.vocab_size)
        self.project_logits = self._product(self.h, model.output_matrix, self.logits)

    @torch.inference_mode()  # so that autograd is not asked about every operation
    def __call__(self, token: Tensor) -> Tensor:
        model, cache = self.model, self.cache
        position = cache.n_held - 1  # the cache counts this one already
        rotation = cache.rotations[position]
        places = cache.keys_and_values[:, :, :, :, position].unbind(0)
        attend = self._attention(cache.n_held)
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
            project_qkv=self._product(self.h, w_qkv, self.qkv),
            add_attention=self._adding(self.heads, params[f"{prefix}.w_o"]),
            mlp_norm=params[f"{prefix}.mlp_norm"].unsqueeze(0),
            project_gate_up=self._product(self.h, w_gate_up, self.gate_up),
            add_mlp=self._adding(self.gated, params[f"{prefix}.w_down"]),
        )

    def _product(self, x: Tensor, w: Tensor, out: Tensor) -> Product:
        return products.ways(x, w, out)[self.way]

    def _adding(self, hidden: Tensor, w: Tensor) -> Product:
        """What adds hidden @ w to the residual stream."""
        if not self.is_half:
            return products.adding_ways(hidden, w, self.x)[self.way]
        multiply = self._product(hidden, w, self.change)

        def multiply_and_add() -> None:
            multiply()
            self.x.add_(self.change)

        return multiply_and_add

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
    project_qkv: Product
    add_attention: Product
    mlp_norm: Tensor
    project_gate_up: Product
    add_mlp: Product
