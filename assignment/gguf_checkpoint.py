# Generated from reference_model/gguf_checkpoint.py by `make assignment`; a change belongs there.
"""Read a Llama checkpoint from a GGUF file into this project's names and (d_in, d_out) matrices.

GGUF files of architecture `llama` already hold W_q and W_k permuted for RoPE on neighbouring
pairs, so every matrix needs a transpose and nothing else. Needs the package `gguf`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor


class CheckpointError(ValueError):
    """A checkpoint cannot be used; the message names the file and what is wrong with it."""


_IN_LAYER = {
    "attn_norm": "attention_norm",
    "attn_q": "w_q",
    "attn_k": "w_k",
    "attn_v": "w_v",
    "attn_output": "w_o",
    "ffn_norm": "mlp_norm",
    "ffn_gate": "w_gate",
    "ffn_up": "w_up",
    "ffn_down": "w_down",
}


def load_gguf(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a GGUF file of architecture `llama`: (config dict, float32 parameters).

    Quantised tensors are dequantised. Raises CheckpointError, naming the file and the key or tensor
    at fault, when the file is missing, damaged, incomplete or of a kind not supported.
    """
    path = Path(path)
    reader = open_gguf(path)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    config = _config(reader, tensors, path)
    names = _gguf_names(config)
    extra = sorted(set(tensors) - set(names.values()))
    if extra:
        raise CheckpointError(
            f"{path}: tensor {extra[0]!r} is not part of a plain Llama model, and leaving it out "
            "would give a different model"
        )
    shapes = _shapes(config)
    params = {}
    for name, gguf_name in names.items():
        if gguf_name not in tensors:
            raise CheckpointError(f"{path}: tensor {gguf_name!r} is missing")
        params[name] = _parameter(tensors[gguf_name], name, shapes[name], path)
    return config, params


def open_gguf(path: Path) -> GGUFReader:
    """Open a GGUF file, or raise CheckpointError with a sentence that says why not."""
    try:
        from gguf import GGUFReader
    except ImportError:
        raise CheckpointError(f"reading {path} needs the package gguf: pip install gguf") from None
    if not path.is_file():
        raise CheckpointError(f"there is no file {path}")
    try:
        return GGUFReader(path)
    # The reader meets damage as whatever error its parsing happens to hit.
    except Exception as problem:
        raise CheckpointError(f"{path} is not a readable GGUF file: {problem}") from problem


def field(reader: GGUFReader, key: str, path: Path) -> Any:
    """The value of a metadata key that must be there."""
    value = _optional_field(reader, key)
    if value is None:
        raise CheckpointError(f"{path}: metadata key {key!r} is missing")
    return value


def _optional_field(reader: GGUFReader, key: str, default: Any = None) -> Any:
    found = reader.get_field(key)
    return default if found is None else found.contents()


def _size(reader: GGUFReader, key: str, path: Path, default: int | None = None) -> int:
    """A metadata entry that must be a positive integer; required when there is no default."""
    value = field(reader, key, path) if default is None else _optional_field(reader, key, default)
    if not isinstance(value, int) or value < 1:
        raise CheckpointError(f"{path}: {key} is {value!r}, expected a positive integer")
    return value


def _config(reader: GGUFReader, tensors: dict[str, ReaderTensor], path: Path) -> dict[str, Any]:
    architecture = field(reader, "general.architecture", path)
    if architecture != "llama":
        raise CheckpointError(f"{path}: architecture is {architecture!r}, expected 'llama'")
    _refuse_scaled_rope(reader, tensors, path)
    if "token_embd.weight" not in tensors:
        raise CheckpointError(f"{path}: tensor 'token_embd.weight' is missing")
    d_model = _size(reader, "llama.embedding_length", path)
    n_heads = _size(reader, "llama.attention.head_count", path)
    n_kv_heads = _size(reader, "llama.attention.head_count_kv", path, n_heads)
    return {
        "name": _optional_field(reader, "general.name", path.stem),
        "n_layers": _size(reader, "llama.block_count", path),
        "d_model": d_model,
        "n_heads": n_heads,
        "n_kv_heads": _divisor(n_kv_heads, n_heads, path),
        "head_dim": _head_dim(reader, d_model // n_heads, path),
        "d_ff": _size(reader, "llama.feed_forward_length", path),
        # The key llama.vocab_size is optional; the table itself always knows.
        "vocab_size": int(tensors["token_embd.weight"].shape[-1]),
        "rope_theta": _decimal(_optional_field(reader, "llama.rope.freq_base", 10000.0)),
        "norm_eps": _decimal(field(reader, "llama.attention.layer_norm_rms_epsilon", path)),
        "tied": "output.weight" not in tensors,
    }


def _divisor(n_kv_heads: int, n_heads: int, path: Path) -> int:
    if n_heads % n_kv_heads:
        raise CheckpointError(
            f"{path}: {n_heads} query heads cannot share {n_kv_heads} key/value heads evenly"
        )
    return n_kv_heads


def _head_dim(reader: GGUFReader, usual: int, path: Path) -> int:
    head_dim = _size(reader, "llama.attention.key_length", path, usual)
    value_dim = _size(reader, "llama.attention.value_length", path, head_dim)
    rotated = _size(reader, "llama.rope.dimension_count", path, head_dim)
    if not rotated == value_dim == head_dim:
        raise CheckpointError(
            f"{path}: heads are {head_dim} wide with {rotated} rotated entries and values of "
            f"{value_dim}; all three must be equal"
        )
    if head_dim % 2:
        raise CheckpointError(f"{path}: heads are {head_dim} wide, but RoPE needs an even width")
    return head_dim


def _refuse_scaled_rope(reader: GGUFReader, tensors: dict[str, ReaderTensor], path: Path) -> None:
    scaling = _optional_field(reader, "llama.rope.scaling.type", "none")
    if scaling != "none":
        raise CheckpointError(f"{path}: rope scaling {scaling!r} in GGUF files is not supported")
    if "rope_freqs.weight" in tensors:
        raise CheckpointError(
            f"{path}: tensor 'rope_freqs.weight' rescales RoPE (Llama 3.1 and later), which is "
            "supported for Hugging Face folders only"
        )


def _decimal(value: float) -> float:
    """The short decimal that a float32 of the file stands for: 9.9999997e-06 was 1e-05."""
    return float(str(np.float32(value)))


def _gguf_names(config: dict[str, Any]) -> dict[str, str]:
    """Our parameter name -> the file's tensor name."""
    names = {"embedding": "token_embd.weight"}
    for layer in range(config["n_layers"]):
        for theirs, ours in _IN_LAYER.items():
            names[f"layers.{layer}.{ours}"] = f"blk.{layer}.{theirs}.weight"
    names["final_norm"] = "output_norm.weight"
    if not config["tied"]:
        names["lm_head"] = "output.weight"
    return names


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d, f, vocab = config["d_model"], config["d_ff"], config["vocab_size"]
    queries = config["n_heads"] * config["head_dim"]
    keys = config["n_kv_heads"] * config["head_dim"]
    in_layer = {
        "attention_norm": (d,),
        "w_q": (d, queries),
        "w_k": (d, keys),
        "w_v": (d, keys),
        "w_o": (queries, d),
        "mlp_norm": (d,),
        "w_gate": (d, f),
        "w_up": (d, f),
        "w_down": (f, d),
    }
    shapes = {"embedding": (vocab, d), "final_norm": (d,), "lm_head": (d, vocab)}
    for layer in range(config["n_layers"]):
        shapes |= {f"layers.{layer}.{name}": shape for name, shape in in_layer.items()}
    return shapes


def _parameter(
    tensor: ReaderTensor, name: str, expected: tuple[int, ...], path: Path
) -> np.ndarray:
    from gguf.quants import dequantize

    # GGUF lists the fastest dimension first, so a stored (d_out, d_in) matrix reads (d_in, d_out);
    # the embedding table is the one matrix that is looked up, not multiplied: (V, d) stays.
    found = tuple(int(size) for size in tensor.shape)
    if name == "embedding":
        found = found[::-1]
    if found != expected:
        raise CheckpointError(
            f"{path}: tensor {tensor.name!r} has shape {found}, but the metadata says {expected}"
        )
    try:
        values = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    except NotImplementedError:
        raise CheckpointError(
            f"{path}: tensor {tensor.name!r} is stored as {tensor.tensor_type.name}, which the "
            "package gguf cannot dequantise"
        ) from None
    if values.ndim == 2 and name != "embedding":
        values = values.T
    return np.array(values, dtype=np.float32, order="C")
