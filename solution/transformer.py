"""GIVEN: the model around your attention. Nothing to fill in, worth reading (L2 §3, §4).

A decoder layer is

    q, k, v = project_qkv(layer, x)          # norm and projections; no positions yet
    ... your positions, cache, mask and attention ...
    x = add_attention(layer, x, heads)       # output projection and residual
    x = add_mlp(layer, x)                    # norm, SwiGLU and residual

Weights are (d_in, d_out) and applied as x @ w. Every matrix product passes through `Counter`,
so that the work of a decode step can be read off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Params = dict[str, np.ndarray]


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of a Llama-style model, in the order of L2."""

    name: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    vocab_size: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    tied: bool = False


@dataclass(frozen=True)
class MLAConfig:
    """Sizes of a latent-attention model (DeepSeek-V3 form); latent_dim is d_c, rope_dim d_R."""

    name: str
    n_layers: int
    d_model: int
    n_heads: int
    latent_dim: int
    nope_dim: int
    rope_dim: int
    v_dim: int
    query_latent_dim: int | None
    d_ff: int
    vocab_size: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    latent_norm_eps: float = 1e-6
    tied: bool = False


@dataclass(frozen=True)
class Matmul:
    """One logged product: (rows, inner) @ (inner, columns)."""

    name: str
    rows: int
    inner: int
    columns: int

    @property
    def flops(self) -> int:
        """2 M K N (L2 §4.1)."""
        return 2 * self.rows * self.inner * self.columns


class Counter:
    """A log of every matrix product of a model (L2 §4)."""

    def __init__(self) -> None:
        self.matmuls: list[Matmul] = []

    def log(self, name: str, x: np.ndarray, w: np.ndarray) -> None:
        """Note that x (..., K) was multiplied by w (K, N)."""
        self.matmuls.append(Matmul(name, x.size // x.shape[-1], *w.shape))

    @property
    def flops(self) -> int:
        """FLOPs of everything logged since the last reset."""
        return sum(matmul.flops for matmul in self.matmuls)

    def rows(self, name: str) -> int:
        """How many vectors went through the products called `name`, as in rows("w_q")."""
        return sum(matmul.rows for matmul in self.matmuls if matmul.name == name)

    def reset(self) -> None:
        """Start a new account."""
        self.matmuls.clear()


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """x / sqrt(mean(x^2) + eps) * weight, over the last axis (L2 §3.2)."""
    mean_square = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(mean_square + eps) * weight


def silu(x: np.ndarray) -> np.ndarray:
    """x * sigmoid(x), written with tanh because exp(-x) overflows for large negative x."""
    return x * (0.5 * (1 + np.tanh(0.5 * x)))


class Decoder:
    """What every decoder-only model here shares: embedding, output projection, MLP, lm_head."""

    def __init__(self, config: ModelConfig | MLAConfig, params: Params) -> None:
        self.config = config
        self.params = params
        self.counter = Counter()

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the weights, and so of activations and cache."""
        return self.params["embedding"].dtype

    def embed(self, tokens: np.ndarray) -> np.ndarray:
        """int (B, T) -> (B, T, d): a row of the table for each token (L2 §1.8)."""
        return self.params["embedding"][tokens]

    def add_attention(self, layer: int, x: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """Concatenate heads (B, H, T, d_v), mix them by w_o and add them to x (B, T, d)."""
        w = self._layer_param(layer, "w_o")
        rows = np.moveaxis(heads, 1, 2).reshape(*x.shape[:2], len(w))
        self.counter.log("w_o", rows, w)
        return x + rows @ w

    def add_mlp(self, layer: int, x: np.ndarray) -> np.ndarray:
        """x + SwiGLU(norm(x)), (B, T, d) -> (B, T, d) (L2 §3.2)."""
        h = self._norm(layer, "mlp_norm", x)
        gated = silu(self._matmul(layer, "w_gate", h)) * self._matmul(layer, "w_up", h)
        return x + self._matmul(layer, "w_down", gated)

    def logits(self, x: np.ndarray) -> np.ndarray:
        """Final norm and lm_head: (..., d) -> (..., V)."""
        h = rms_norm(x, self.params["final_norm"], self.config.norm_eps)
        w = self.params["embedding"].T if self.config.tied else self.params["lm_head"]
        self.counter.log("lm_head", h, w)
        return h @ w

    def _layer_param(self, layer: int, name: str) -> np.ndarray:
        return self.params[f"layers.{layer}.{name}"]

    def _norm(self, layer: int, name: str, x: np.ndarray) -> np.ndarray:
        return rms_norm(x, self._layer_param(layer, name), self.config.norm_eps)

    def _matmul(self, layer: int, name: str, x: np.ndarray) -> np.ndarray:
        w = self._layer_param(layer, name)
        self.counter.log(name, x, w)
        return x @ w

    def _to_heads(self, layer: int, name: str, x: np.ndarray, n_heads: int) -> np.ndarray:
        """(B, T, d) -> (B, n_heads, T, width): the product, and what each head gets of it."""
        w = self._layer_param(layer, name)
        self.counter.log(name, x, w)
        return np.moveaxis((x @ w).reshape(*x.shape[:2], n_heads, -1), 2, 1)


class Transformer(Decoder):
    """A Llama-style model: H query heads, G key/value heads (L2 §3)."""

    def project_qkv(self, layer: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Norm x (B, T, d), project and split; nothing is rotated yet.

        Returns:
            q (B, H, T, d_h), k (B, G, T, d_h), v (B, G, T, d_h).
        """
        h = self._norm(layer, "attention_norm", x)
        q = self._to_heads(layer, "w_q", h, self.config.n_heads)
        k = self._to_heads(layer, "w_k", h, self.config.n_kv_heads)
        v = self._to_heads(layer, "w_v", h, self.config.n_kv_heads)
        return q, k, v


class MLATransformer(Decoder):
    """A DeepSeek-style model with latent attention (L2 §6.4)."""

    def project_latent(
        self, layer: int, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Norm x (B, T, d) and project; nothing is rotated and the latent is not normed yet.

        Returns:
            q_nope (B, H, T, d_nope), q_rope (B, H, T, d_R), latent (B, T, d_c),
            k_rope (B, T, d_R).
        """
        h = self._norm(layer, "attention_norm", x)
        q = self._queries(layer, h)
        q_nope, q_rope = np.split(q, [self.config.nope_dim], axis=-1)
        return q_nope, q_rope, self._matmul(layer, "w_dkv", h), self._matmul(layer, "w_kr", h)

    def norm_latent(self, layer: int, latent: np.ndarray) -> np.ndarray:
        """RMSNorm of the latent (..., d_c), to be applied before it is cached."""
        return rms_norm(latent, self._layer_param(layer, "kv_norm"), self.config.latent_norm_eps)

    def up_projections(self, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """w_uk (d_c, H*d_nope) and w_uv (d_c, H*d_v) of a layer."""
        return self._layer_param(layer, "w_uk"), self._layer_param(layer, "w_uv")

    def _queries(self, layer: int, h: np.ndarray) -> np.ndarray:
        if self.config.query_latent_dim is None:
            return self._to_heads(layer, "w_q", h, self.config.n_heads)
        compressed = self._matmul(layer, "w_dq", h)
        q_norm = self._layer_param(layer, "q_norm")
        normed = rms_norm(compressed, q_norm, self.config.latent_norm_eps)
        return self._to_heads(layer, "w_uq", normed, self.config.n_heads)


def load_model(config: dict, params: Params) -> Transformer | MLATransformer:
    """A model from plain data: the fields of ModelConfig or MLAConfig, and its weights by name."""
    if "latent_dim" in config:
        return MLATransformer(MLAConfig(**config), params)
    return Transformer(ModelConfig(**config), params)
