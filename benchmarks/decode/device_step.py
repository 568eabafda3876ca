"""A decode step on a GPU: static shapes, nothing asked of the host, captured as one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor

from solution.torch_model import TorchTransformer, rms_norm

if TYPE_CHECKING:
    from .record import RecordCache


def device_step(model: TorchTransformer, token: Tensor, cache: RecordCache) -> Tensor:
    """A decode step of static shapes that asks the host nothing; runs on any device."""
    c, params, fused = model.config, model.params, model.fused
    n_rotated, group = c.n_heads + c.n_kv_heads, c.n_heads // c.n_kv_heads
    position = cache.length.view(1)
    rotation = cache.rotations.index_select(0, position)
    may_attend = (torch.arange(cache.max_len, device=token.device) <= position)[None]
    # As float32, whatever the weights are: the sum of all layers is kept in it.
    x = params["embedding"][token].to(rotation.real.dtype)
    for layer, (keys, values) in enumerate(zip(cache.keys, cache.values, strict=True)):
        h = rms_norm(x, params[f"layers.{layer}.attention_norm"], c.norm_eps)
        heads = (h @ fused[f"layers.{layer}.w_qkv"]).unflatten(1, (-1, 1, c.head_dim))
        rotated = rotate(heads[:, :n_rotated], rotation)
        keys.index_copy_(2, position, rotated[:, c.n_heads :])
        values.index_copy_(2, position, heads[:, n_rotated:])
        # The R heads of a group as rows, as in grouped_attention.
        rows = rotated[:, : c.n_heads].reshape(len(x), c.n_kv_heads, group, c.head_dim)
        mixed = F.scaled_dot_product_attention(rows, keys, values, may_attend)
        x = x + mixed.reshape(len(x), -1) @ params[f"layers.{layer}.w_o"]
        x = model.add_mlp(layer, x)
    cache.length.add_(1)
    return model.logits(x)


def rotate(x: Tensor, rotations: Tensor) -> Tensor:
    """RoPE: neighbouring pairs of x (..., T, d_h) as complex numbers, times T rotations."""
    wide = x.double() if rotations.dtype == torch.complex128 else x.float()
    if torch.compiler.is_compiling():  # which fuses real arithmetic, and no complex one
        (even, odd), (cos, sin) = (
            wide.unflatten(-1, (-1, 2)).unbind(-1),
            torch.view_as_real(rotations).unbind(-1),
        )
        turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
        return turned.flatten(-2).to(x.dtype)
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * rotations).flatten(-2).to(x.dtype)
