"""Read a Hugging Face Llama folder into this project's names and conventions.

Hugging Face stores matrices (d_out, d_in) and rotates the two halves of a head; here matrices are
(d_in, d_out) and RoPE turns neighbouring pairs. Needs the package `safetensors`, not torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .config import LLAMA3_SCALING_KEYS, ModelConfig, param_shapes
from .gguf_checkpoint import CheckpointError

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_IN_LAYER = {
    "attention_norm": "input_layernorm",
    "w_q": "self_attn.q_proj",
    "w_k": "self_attn.k_proj",
    "w_v": "self_attn.v_proj",
    "w_o": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "w_gate": "mlp.gate_proj",
    "w_up": "mlp.up_proj",
    "w_down": "mlp.down_proj",
}


def load_huggingface(directory: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read `config.json` and `model.safetensors` (or its shards): (config dict, parameters).

    float16 and bfloat16 become float32; float32 and float64 stay. Raises CheckpointError, naming
    the file and the key or tensor at fault, for anything missing, misshapen or not supported.
    """
    directory = Path(directory)
    config = _config(directory / "config.json")
    files = _tensor_files(directory)
    names = _huggingface_names(config)
    _refuse_extra(files, names, config)
    shapes = param_shapes(config)
    params = {}
    for name, theirs in names.items():
        if theirs not in files:
            raise CheckpointError(f"{directory}: tensor {theirs!r} is missing")
        params[name] = _parameter(files[theirs], theirs, name, shapes[name], config)
    return config.to_dict(), params


def halves_to_pairs(w: np.ndarray, n_heads: int) -> np.ndarray:
    """Reorder the columns of each head, (d, n*d_h) -> (d, n*d_h), from halves to pairs.

    Rotating halves pairs entry i with entry i + d_h/2; here they become entries 2i and 2i+1.
    """
    d_in, width = w.shape
    half = width // n_heads // 2
    heads = w.reshape(d_in, n_heads, 2, half)
    return np.swapaxes(heads, 2, 3).reshape(d_in, width)


def _config(path: Path) -> ModelConfig:
    found = _read_json(path)
    _refuse_other_models(found, path)
    n_heads = _entry(found, "num_attention_heads", path)
    d_model = _entry(found, "hidden_size", path)
    theta, scaling = _rope(found, path)
    try:
        return ModelConfig(
            name=path.parent.resolve().name,
            n_layers=_entry(found, "num_hidden_layers", path),
            d_model=d_model,
            n_heads=n_heads,
            n_kv_heads=found.get("num_key_value_heads") or n_heads,
            head_dim=found.get("head_dim") or d_model // n_heads,
            d_ff=_entry(found, "intermediate_size", path),
            vocab_size=_entry(found, "vocab_size", path),
            rope_theta=theta,
            norm_eps=found.get("rms_norm_eps", 1e-6),
            tied=bool(found.get("tie_word_embeddings", False)),
            rope_scaling=scaling,
        )
    except (TypeError, ValueError) as problem:
        raise CheckpointError(f"{path}: {problem}") from problem


def _refuse_other_models(found: Mapping[str, Any], path: Path) -> None:
    kind = found.get("model_type")
    if kind != "llama":
        raise CheckpointError(f"{path}: model_type is {kind!r}, but only 'llama' can be read")
    for key in ("attention_bias", "mlp_bias"):
        if found.get(key):
            raise CheckpointError(f"{path}: {key} is true, but this model has no biases")
    activation = found.get("hidden_act", "silu")
    if activation != "silu":
        raise CheckpointError(f"{path}: hidden_act is {activation!r}, but only 'silu' is supported")


def _rope(found: Mapping[str, Any], path: Path) -> tuple[float, dict[str, Any] | None]:
    """(theta, scaling) from `rope_parameters` (transformers 5) or `rope_theta`/`rope_scaling`."""
    rope = found.get("rope_parameters") or found.get("rope_scaling") or {}
    theta = rope.get("rope_theta", found.get("rope_theta", 10000.0))
    rotated_share = rope.get("partial_rotary_factor", found.get("partial_rotary_factor"))
    if rotated_share not in (None, 1):
        raise CheckpointError(f"{path}: partial_rotary_factor {rotated_share} is not supported")
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise CheckpointError(
            f"{path}: rope type {kind!r} is not supported; 'default' and 'llama3' are"
        )
    return theta, {"rope_type": kind} | {
        key: _entry(rope, key, path) for key in LLAMA3_SCALING_KEYS
    }


def _entry(found: Mapping[str, Any], key: str, path: Path) -> Any:
    if found.get(key) is None:
        raise CheckpointError(f"{path}: {key!r} is missing")
    return found[key]


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"there is no file {path}") from None
    except (OSError, ValueError) as problem:
        raise CheckpointError(f"{path} is not readable JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise CheckpointError(f"{path} should hold a JSON object, not a {type(found).__name__}")
    return found


def _tensor_files(directory: Path) -> dict[str, Path]:
    """Each tensor's name -> the file that really holds it."""
    index = directory / _INDEX
    if not index.is_file():
        single = directory / _SINGLE
        return dict.fromkeys(_tensor_names(single), single)
    promised = _read_json(index).get("weight_map")
    if not isinstance(promised, dict):
        raise CheckpointError(f"{index}: 'weight_map' is missing")
    for name in promised.values():
        # A shard is a plain file name; a path could lead out of the folder.
        if not isinstance(name, str) or Path(name).name != name:
            raise CheckpointError(f"{index}: {name!r} is not the name of a file in this folder")
    held = {shard: set(_tensor_names(directory / shard)) for shard in set(promised.values())}
    for name, shard in promised.items():
        if name not in held[shard]:
            raise CheckpointError(f"{directory / shard}: tensor {name!r} is missing")
    return {name: directory / shard for name, shard in promised.items()}


def _tensor_names(path: Path) -> list[str]:
    with _open(path) as file:
        return list(file.keys())


def _open(path: Path) -> Any:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise CheckpointError(
            f"reading {path} needs the package safetensors: pip install safetensors"
        ) from None
    if not path.is_file():
        raise CheckpointError(f"there is no file {path}")
    try:
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError) as problem:
        raise CheckpointError(f"{path} is not a readable safetensors file: {problem}") from problem


def _huggingface_names(config: ModelConfig) -> dict[str, str]:
    """Our parameter name -> Hugging Face's tensor name."""
    names = {"embedding": "model.embed_tokens.weight"}
    for layer in range(config.n_layers):
        for ours, theirs in _IN_LAYER.items():
            names[f"layers.{layer}.{ours}"] = f"model.layers.{layer}.{theirs}.weight"
    names["final_norm"] = "model.norm.weight"
    if not config.tied:
        names["lm_head"] = "lm_head.weight"
    return names


def _refuse_extra(files: Mapping[str, Path], names: Mapping[str, str], config: ModelConfig) -> None:
    known = set(names.values())
    for name, file in sorted(files.items()):
        # Old exports keep RoPE's frequencies, and tied ones may keep the copy they are tied to.
        harmless = name.endswith("rotary_emb.inv_freq") or (
            config.tied and name == "lm_head.weight"
        )
        if name not in known and not harmless:
            raise CheckpointError(
                f"{file}: tensor {name!r} is not part of the Llama model that config.json describes"
            )


def _parameter(
    file: Path, theirs: str, ours: str, shape: tuple[int, ...], config: ModelConfig
) -> np.ndarray:
    stored = _read_tensor(file, theirs)
    multiplied = stored.ndim == 2 and ours != "embedding"
    expected = shape[::-1] if multiplied else shape
    if stored.shape != expected:
        raise CheckpointError(
            f"{file}: tensor {theirs!r} has shape {stored.shape}, but config.json needs {expected}"
        )
    values = stored.T if multiplied else stored
    if ours.endswith(".w_q"):
        values = halves_to_pairs(values, config.n_heads)
    if ours.endswith(".w_k"):
        values = halves_to_pairs(values, config.n_kv_heads)
    return np.ascontiguousarray(values)


def _read_tensor(path: Path, name: str) -> np.ndarray:
    with _open(path) as file:
        kind = file.get_slice(name).get_dtype()
        if kind in ("F64", "F32"):
            return file.get_tensor(name)
        if kind == "F16":
            return file.get_tensor(name).astype(np.float32)
    if kind == "BF16":
        return _read_bfloat16(path, name)
    raise CheckpointError(f"{path}: tensor {name!r} is stored as {kind}, not as a float")


def _read_bfloat16(path: Path, name: str) -> np.ndarray:
    """numpy has no bfloat16, but its 16 bits are the upper half of the float32 of equal value."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(header_bytes))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + header_bytes + begin)
        bits = np.frombuffer(file.read(end - begin), dtype="<u2")
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    return values.reshape(entry["shape"])
