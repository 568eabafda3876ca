"""The two model shapes the oracle understands: Llama with GQA, and DeepSeek-style MLA.

A config travels between people and processes as a plain dict; `as_config` turns it back into the
right class. `param_shapes` is the one place that says which arrays a model consists of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import prod
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

Params: TypeAlias = Mapping[str, np.ndarray]
Shape: TypeAlias = tuple[int, ...]

LLAMA3_SCALING_KEYS = (
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "original_max_position_embeddings",
)


@dataclass(frozen=True)
class ModelConfig:
    """A Llama-style decoder (L2 §3.2): L layers, d, H query heads, G key/value heads, d_h, f, V.

    `rope_scaling` is None or a dict of type "llama3" with the keys of `LLAMA3_SCALING_KEYS`.
    """

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
    rope_scaling: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        sizes = "n_layers d_model n_heads n_kv_heads head_dim d_ff vocab_size"
        _require_positive_integers(self, sizes.split())
        _require_positive_numbers(self, ["rope_theta", "norm_eps"])
        if self.n_heads % self.n_kv_heads:
            raise ValueError(
                f"n_heads must be a multiple of n_kv_heads, but {self.n_heads} query heads "
                f"cannot share {self.n_kv_heads} key/value heads evenly (config {self.name!r})"
            )
        _require_even(self, "head_dim")
        if self.rope_scaling is not None:
            _require_llama3_scaling(self.rope_scaling)

    def n_params(self) -> int:
        """All numbers of the model (L2 §4.2)."""
        return sum(prod(shape) for shape in param_shapes(self).values())

    def matmul_params(self) -> int:
        """Numbers that every token is multiplied by: not the norms, not the table (L2 §1.8, §4.2).

        With tied weights the table is multiplied as lm_head, and counts.
        """
        matrices = sum(
            prod(shape)
            for name, shape in param_shapes(self).items()
            if len(shape) == 2 and name != "embedding"
        )
        return matrices + (self.vocab_size * self.d_model if self.tied else 0)

    def kv_bytes_per_token(self, bytes_per_number: int = 2) -> int:
        """K and V of one token in all layers (L2 §5.5)."""
        return 2 * self.n_layers * self.n_kv_heads * self.head_dim * bytes_per_number

    def to_dict(self) -> dict[str, Any]:
        """The plain dict of this config; `rope_scaling` appears only when it is set."""
        plain = asdict(self)
        if plain["rope_scaling"] is None:
            del plain["rope_scaling"]
        return plain


@dataclass(frozen=True)
class MLAConfig:
    """A decoder with multi-head latent attention (L2 §6.4; DeepSeek-V3 report §2.1.1).

    Per head the query has `nope_dim` entries without RoPE and then `rope_dim` with it; a value has
    `v_dim`. `query_latent_dim` None means that queries come from one uncompressed matrix.
    """

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

    def __post_init__(self) -> None:
        sizes = "n_layers d_model n_heads latent_dim nope_dim rope_dim v_dim d_ff vocab_size"
        _require_positive_integers(self, sizes.split())
        if self.query_latent_dim is not None:
            _require_positive_integers(self, ["query_latent_dim"])
        _require_positive_numbers(self, ["rope_theta", "norm_eps", "latent_norm_eps"])
        _require_even(self, "rope_dim")

    def kv_bytes_per_token(self, bytes_per_number: int = 2) -> int:
        """Latent and RoPE key of one token in all layers (L2 §6.4)."""
        return self.n_layers * (self.latent_dim + self.rope_dim) * bytes_per_number

    def to_dict(self) -> dict[str, Any]:
        """The plain dict of this config."""
        return asdict(self)


AnyConfig: TypeAlias = ModelConfig | MLAConfig | Mapping[str, Any]


def as_config(config: AnyConfig) -> ModelConfig | MLAConfig:
    """Read a config object, or a plain dict of one (a dict with `latent_dim` is an MLA config)."""
    if isinstance(config, ModelConfig | MLAConfig):
        return config
    kind = MLAConfig if "latent_dim" in config else ModelConfig
    known = {field.name for field in fields(kind)}
    unknown = sorted(set(config) - known)
    if unknown:
        raise ValueError(f"unknown {kind.__name__} key {unknown[0]!r}; known keys: {sorted(known)}")
    try:
        return kind(**config)
    except TypeError as problem:
        raise ValueError(f"incomplete {kind.__name__} {dict(config)!r}: {problem}") from None


def param_shapes(config: AnyConfig) -> dict[str, Shape]:
    """Every parameter's name and shape, in the order in which they are drawn.

    Matrices are (d_in, d_out) and applied as x @ w (D3: input length x output length).
    """
    config = as_config(config)
    d, f, vocab = config.d_model, config.d_ff, config.vocab_size
    shapes: dict[str, Shape] = {"embedding": (vocab, d)}
    for layer in range(config.n_layers):
        in_layer: dict[str, Shape] = {"attention_norm": (d,)}
        if isinstance(config, MLAConfig):
            in_layer |= _mla_attention_shapes(config)
        else:
            in_layer |= _gqa_attention_shapes(config)
        in_layer |= {"mlp_norm": (d,), "w_gate": (d, f), "w_up": (d, f), "w_down": (f, d)}
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in in_layer.items()}
    shapes["final_norm"] = (d,)
    if not config.tied:
        shapes["lm_head"] = (d, vocab)
    return shapes


def _gqa_attention_shapes(config: ModelConfig) -> dict[str, Shape]:
    d, dh = config.d_model, config.head_dim
    queries, keys = config.n_heads * dh, config.n_kv_heads * dh
    return {"w_q": (d, queries), "w_k": (d, keys), "w_v": (d, keys), "w_o": (queries, d)}


def _mla_attention_shapes(config: MLAConfig) -> dict[str, Shape]:
    d, heads, latent = config.d_model, config.n_heads, config.latent_dim
    queries = heads * (config.nope_dim + config.rope_dim)
    compressed = config.query_latent_dim
    if compressed is None:
        query_shapes: dict[str, Shape] = {"w_q": (d, queries)}
    else:
        query_shapes = {
            "w_dq": (d, compressed),
            "q_norm": (compressed,),
            "w_uq": (compressed, queries),
        }
    return query_shapes | {
        "w_dkv": (d, latent),
        "kv_norm": (latent,),
        "w_kr": (d, config.rope_dim),
        "w_uk": (latent, heads * config.nope_dim),
        "w_uv": (latent, heads * config.v_dim),
        "w_o": (heads * config.v_dim, d),
    }


def check_params(config: AnyConfig, params: Params) -> None:
    """Raise ValueError naming the first parameter that is missing, unexpected or misshapen."""
    shapes = param_shapes(config)
    for name, shape in shapes.items():
        if name not in params:
            raise ValueError(f"parameter {name!r} of shape {shape} is missing")
        found = np.shape(params[name])
        if found != shape:
            raise ValueError(f"parameter {name!r} has shape {found}, but the config needs {shape}")
    extra = next((name for name in params if name not in shapes), None)
    if extra is not None:
        why = " (the config says tied=True)" if extra == "lm_head" else ""
        raise ValueError(f"parameter {extra!r} is not part of this model{why}")


def _require_positive_integers(config: object, names: list[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a positive integer, not {value!r}")


def _require_positive_numbers(config: object, names: list[str]) -> None:
    for name in names:
        value = getattr(config, name)
        if not _is_positive_number(value):
            raise ValueError(f"{name} must be a positive number, not {value!r}")


def _is_positive_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(value > 0)  # type: ignore[operator]


def _require_even(config: object, name: str) -> None:
    value = getattr(config, name)
    if value % 2:
        raise ValueError(f"{name} must be even, because RoPE rotates pairs, not {value}")


def _require_llama3_scaling(scaling: Mapping[str, Any]) -> None:
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind != "llama3":
        raise ValueError(f"rope_scaling type {kind!r} is not supported; only 'llama3' is")
    for key in LLAMA3_SCALING_KEYS:
        value = scaling.get(key)
        if not _is_positive_number(value):
            raise ValueError(f"rope_scaling[{key!r}] must be a positive number, not {value!r}")
    if scaling["high_freq_factor"] <= scaling["low_freq_factor"]:
        raise ValueError("rope_scaling needs high_freq_factor greater than low_freq_factor")
