# Generated from solution/torch_model.py by `make assignment`; a change belongs there.
"""GIVEN: transformer.py's model in torch, for part 10. Nothing to fill in, worth reading.

The same parameters by the same names, (d_in, d_out), applied as x @ w; the same steps of a layer:

    query, key, value = model.project_qkv(layer, x)    # norm and projections; no positions yet
    ... your positions, cache and attention ...
    x = model.add_attention(layer, x, heads)
    x = model.add_mlp(layer, x)

Two things are arranged for speed. Matrices that read the same input lie side by side in memory, so
that one product can serve them all (`fused`); w_q, w_k, w_v, w_gate and w_up are views of them. And
a matrix lies in memory in the order in which the machine multiplies a single vector fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (its customary name)
from torch import Tensor

from .transformer import MLAConfig, ModelConfig

FUSED: dict[str, tuple[str, ...]] = {
    "w_qkv": ("w_q", "w_k", "w_v"),
    "w_gate_up": ("w_gate", "w_up"),
    "w_latent": ("w_dkv", "w_kr"),
}


def read_config(config: Mapping | ModelConfig | MLAConfig) -> ModelConfig | MLAConfig:
    """A config object from a dict of its fields; a config object is returned as it is."""
    if not isinstance(config, Mapping):
        return config
    return (MLAConfig if "latent_dim" in config else ModelConfig)(**config)


def wants_rows(device: str | torch.device, dtype: torch.dtype) -> bool:
    """Whether a matrix (d_in, d_out) should lie in memory in rows of d_out numbers.

    On a CPU, MKL's float32 product with a single vector is fastest so (2.8 ms against 3.7 for 26 M
    parameters on two cores). In bfloat16, and on a GPU, each output's d_in numbers should be
    contiguous: the sum of a dot product then stays in registers.
    """
    return torch.device(device).type == "cpu" and dtype in (torch.float32, torch.float64)


def stored(w: Tensor) -> Tensor:
    """The same matrix (d_in, d_out), laid out in memory for products with a single vector."""
    return w.contiguous() if wants_rows(w.device, w.dtype) else w.t().contiguous().t()


class TorchDecoder:
    """What both models share: embedding, output projection, MLP, lm_head.

    Attributes:
        config: a ModelConfig or MLAConfig.
        params: the weights by the names of transformer.py.
        fused: "layers.0.w_qkv", "layers.0.w_gate_up" and so on; changing a weight in place
            changes both.
        kept: yours: what a loop likes to find again in its next call, such as a captured graph.
    """

    def __init__(
        self,
        config: Mapping | ModelConfig | MLAConfig,
        params: Mapping[str, np.ndarray | Tensor],
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.config = read_config(config)
        self.params: dict[str, Tensor] = {}
        self.fused: dict[str, Tensor] = {}
        self.kept: dict[Any, Any] = {}
        with torch.no_grad():
            given = {name: torch.as_tensor(w) for name, w in params.items()}
            for layer in range(self.config.n_layers):
                for fused, names in FUSED.items():
                    self._store_fused(f"layers.{layer}", fused, names, given, device, dtype)
            for name, w in given.items():
                if name not in self.params:
                    w = w.detach().to(device=device, dtype=dtype, copy=True)
                    is_matrix = w.ndim == 2 and name != "embedding"
                    self.params[name] = stored(w) if is_matrix else w.contiguous()

    def _store_fused(self, prefix, fused, names, given, device, dtype) -> None:
        parts = [given.get(f"{prefix}.{name}") for name in names]
        if any(part is None for part in parts):
            return
        whole = torch.cat([p.detach().to(device=device, dtype=dtype) for p in parts], dim=1)
        self.fused[f"{prefix}.{fused}"] = whole = stored(whole)
        views = whole.split([part.shape[1] for part in parts], dim=1)
        self.params |= {f"{prefix}.{name}": v for name, v in zip(names, views, strict=True)}

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.params["embedding"].device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights, and so of activations and cache."""
        return self.params["embedding"].dtype

    @property
    def output_matrix(self) -> Tensor:
        """lm_head (d, V), or the transposed embedding where the two are tied."""
        return self.params["embedding"].t() if self.config.tied else self.params["lm_head"]

    def embed(self, tokens: Tensor) -> Tensor:
        """int64 (B, T) -> (B, T, d)."""
        return self.params["embedding"][tokens]

    def add_attention(self, layer: int, x: Tensor, heads: Tensor) -> Tensor:
        """Concatenate heads (B, H, T, d_v), mix them by w_o and add them to x (B, T, d)."""
        return x + heads.transpose(1, 2).flatten(2) @ self._param(layer, "w_o")

    def add_mlp(self, layer: int, x: Tensor) -> Tensor:
        """x + SwiGLU(norm(x)), (B, T, d) -> (B, T, d)."""
        h = self._norm(layer, "mlp_norm", x)
        gate, up = (h @ self.fused[f"layers.{layer}.w_gate_up"]).chunk(2, dim=-1)
        return x + (F.silu(gate) * up) @ self._param(layer, "w_down")

    def logits(self, x: Tensor) -> Tensor:
        """Final norm and lm_head: (..., d) -> (..., V)."""
        return rms_norm(x, self.params["final_norm"], self.config.norm_eps) @ self.output_matrix

    def _param(self, layer: int, name: str) -> Tensor:
        return self.params[f"layers.{layer}.{name}"]

    def _norm(self, layer: int, name: str, x: Tensor) -> Tensor:
        return rms_norm(x, self._param(layer, name), self.config.norm_eps)


class TorchTransformer(TorchDecoder):
    """transformer.Transformer in torch: H query heads, G key/value heads."""

    def project_qkv(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Norm x (B, T, d), project and split; nothing is rotated yet.

        Returns:
            q (B, H, T, d_h), k (B, G, T, d_h), v (B, G, T, d_h).
        """
        c = self.config
        h = self._norm(layer, "attention_norm", x)
        heads = (h @ self.fused[f"layers.{layer}.w_qkv"]).unflatten(-1, (-1, c.head_dim))
        return heads.transpose(1, 2).split([c.n_heads, c.n_kv_heads, c.n_kv_heads], dim=1)


class TorchMLATransformer(TorchDecoder):
    """transformer.MLATransformer in torch."""

    def project_latent(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Norm x (B, T, d) and project; nothing is rotated and the latent is not normed yet.

        Returns:
            q_nope (B, H, T, d_nope), q_rope (B, H, T, d_R), latent (B, T, d_c),
            k_rope (B, T, d_R).
        """
        c = self.config
        h = self._norm(layer, "attention_norm", x)
        q = self._queries(layer, h).unflatten(-1, (c.n_heads, -1)).transpose(1, 2)
        q_nope, q_rope = q.split([c.nope_dim, c.rope_dim], dim=-1)
        latent, k_rope = (h @ self.fused[f"layers.{layer}.w_latent"]).split(
            [c.latent_dim, c.rope_dim], dim=-1
        )
        return q_nope, q_rope, latent, k_rope

    def norm_latent(self, layer: int, latent: Tensor) -> Tensor:
        """RMSNorm of the latent (..., d_c), to be applied before it is cached."""
        return rms_norm(latent, self._param(layer, "kv_norm"), self.config.latent_norm_eps)

    def up_projections(self, layer: int) -> tuple[Tensor, Tensor]:
        """w_uk (d_c, H*d_nope) and w_uv (d_c, H*d_v) of a layer."""
        return self._param(layer, "w_uk"), self._param(layer, "w_uv")

    def _queries(self, layer: int, h: Tensor) -> Tensor:
        if self.config.query_latent_dim is None:
            return h @ self._param(layer, "w_q")
        compressed = h @ self._param(layer, "w_dq")
        normed = rms_norm(compressed, self._param(layer, "q_norm"), self.config.latent_norm_eps)
        return normed @ self._param(layer, "w_uq")


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight, over the last axis (L2 §3.2), in the weight's dtype.

    x may be wider than that: a sum of many layers is better kept in float32.
    """
    return F.rms_norm(x, weight.shape, weight.to(x.dtype), eps).to(weight.dtype)
