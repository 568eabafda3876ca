"""Checkpoints: read exactly, or refused with a sentence that names what is wrong.

The folders are written here by hand with numpy and safetensors, following Hugging Face's
conventions; test_reference_huggingface.py reads folders that transformers wrote.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

safetensors_numpy = pytest.importorskip("safetensors.numpy", reason="safetensors not installed")

import reference_model as reference  # noqa: E402
from reference_model.checkpoints import load_huggingface  # noqa: E402
from reference_model.gguf_checkpoint import CheckpointError, load_gguf  # noqa: E402

CONFIG = reference.ModelConfig("tiny", 2, 32, 4, 2, 8, 64, 30, rope_theta=500.0, norm_eps=1e-4)
HUGGINGFACE_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 30,
    "rms_norm_eps": 1e-4,
    "rope_theta": 500.0,
    "tie_word_embeddings": False,
}
THEIR_NAMES = {
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
GGUF_NAMES = {
    "attention_norm": "attn_norm",
    "w_q": "attn_q",
    "w_k": "attn_k",
    "w_v": "attn_v",
    "w_o": "attn_output",
    "mlp_norm": "ffn_norm",
    "w_gate": "ffn_gate",
    "w_up": "ffn_up",
    "w_down": "ffn_down",
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
Q_PROJ = "model.layers.1.self_attn.q_proj.weight"


def their_name(name: str) -> str:
    whole = {"embedding": "model.embed_tokens", "final_norm": "model.norm", "lm_head": "lm_head"}
    if name in whole:
        return f"{whole[name]}.weight"
    _, layer, short = name.split(".")
    return f"model.layers.{layer}.{THEIR_NAMES[short]}.weight"


def pairs_to_halves(w: np.ndarray, head_dim: int) -> np.ndarray:
    """Column by column: pair i of a head goes to entries i and i + d_h/2."""
    out = np.empty_like(w)
    for column in range(w.shape[1]):
        head, entry = divmod(column, head_dim)
        pair, member = divmod(entry, 2)
        out[:, head * head_dim + member * head_dim // 2 + pair] = w[:, column]
    return out


def in_their_convention(params: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    tensors = {}
    for name, value in params.items():
        if name.endswith((".w_q", ".w_k")):
            value = pairs_to_halves(value, CONFIG.head_dim)
        if value.ndim == 2 and name != "embedding":
            value = value.T
        tensors[their_name(name)] = np.ascontiguousarray(value)
    return tensors


@pytest.fixture
def params() -> dict[str, np.ndarray]:
    return reference.init_llama(CONFIG, seed=0, dtype=np.float32)


@pytest.fixture
def tensors(params) -> dict[str, np.ndarray]:
    return in_their_convention(params)


def write(folder: Path, tensors: dict, **changes) -> Path:
    config = {
        key: value for key, value in (HUGGINGFACE_CONFIG | changes).items() if value is not None
    }
    (folder / "config.json").write_text(json.dumps(config))
    safetensors_numpy.save_file(tensors, folder / "model.safetensors")
    return folder


def write_shards(folder: Path, tensors: dict) -> Path:
    write(folder, {})
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    weight_map = {}
    for number, half in enumerate((names[::2], names[1::2]), start=1):
        shard = f"model-{number:05}-of-00002.safetensors"
        safetensors_numpy.save_file({name: tensors[name] for name in half}, folder / shard)
        weight_map |= dict.fromkeys(half, shard)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, strict=True)


def refused(folder: Path, *needles: str) -> None:
    with pytest.raises(CheckpointError) as refusal:
        load_huggingface(folder)
    for needle in needles:
        assert needle in str(refusal.value)


# Hugging Face folders that can be read


def test_single_file(tmp_path, tensors, params):
    config, found = load_huggingface(write(tmp_path, tensors))
    assert config == CONFIG.to_dict() | {"name": tmp_path.name}
    assert_same(found, params)
    assert all(value.flags.c_contiguous for value in found.values())


def test_shards(tmp_path, tensors, params):
    _, found = load_huggingface(write_shards(tmp_path, tensors))
    assert_same(found, params)


def test_tied_embeddings(tmp_path, tensors, params):
    kept_copy = dict(tensors)
    del tensors["lm_head.weight"], params["lm_head"]
    for stored in (tensors, kept_copy):
        config, found = load_huggingface(write(tmp_path, stored, tie_word_embeddings=True))
        assert config["tied"] is True
        assert_same(found, params)


def test_old_exports_with_stored_frequencies(tmp_path, tensors, params):
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(4, dtype=np.float32)
    assert_same(load_huggingface(write(tmp_path, tensors))[1], params)


def test_defaults_of_an_old_config(tmp_path, tensors):
    old = {"head_dim": None, "rope_theta": None, "rms_norm_eps": None, "tie_word_embeddings": None}
    config, _ = load_huggingface(write(tmp_path, tensors, **old))
    assert (config["head_dim"], config["rope_theta"], config["norm_eps"]) == (8, 10000.0, 1e-6)
    assert config["tied"] is False


def test_missing_kv_heads_means_multi_head_attention(tmp_path):
    mha = reference.ModelConfig("tiny", 2, 32, 4, 4, 8, 64, 30)
    tensors = in_their_convention(reference.init_llama(mha, seed=1))
    config, _ = load_huggingface(write(tmp_path, tensors, num_key_value_heads=None))
    assert config["n_kv_heads"] == 4


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_theta": 500.0, "rope_scaling": LLAMA3},
        {"rope_theta": None, "rope_parameters": LLAMA3 | {"rope_theta": 500.0}},
    ],
    ids=["transformers 4", "transformers 5"],
)
def test_llama3_scaling(tmp_path, tensors, rope):
    config, found = load_huggingface(write(tmp_path, tensors, **rope))
    assert config["rope_scaling"] == LLAMA3
    assert config["rope_theta"] == 500.0
    tokens = np.arange(30)[None]
    plain = {key: value for key, value in config.items() if key != "rope_scaling"}
    scaled = reference.llama_logits(config, found, tokens)
    assert np.abs(scaled - reference.llama_logits(plain, found, tokens)).max() > 0.01


# Hugging Face folders that cannot


def test_missing_tensor(tmp_path, tensors):
    del tensors[Q_PROJ]
    refused(write(tmp_path, tensors), str(tmp_path), Q_PROJ, "missing")


def test_untied_without_lm_head(tmp_path, tensors):
    del tensors["lm_head.weight"]
    refused(write(tmp_path, tensors), "lm_head.weight", "missing")


def test_wrong_shape(tmp_path, tensors):
    tensors[Q_PROJ] = tensors[Q_PROJ][:-1]
    refused(write(tmp_path, tensors), "model.safetensors", Q_PROJ, "(31, 32)", "(32, 32)")


def test_unexpected_tensor(tmp_path, tensors):
    tensors["model.layers.0.self_attn.q_norm.weight"] = np.ones(8, dtype=np.float32)
    refused(write(tmp_path, tensors), "model.layers.0.self_attn.q_norm.weight", "not part of")


def test_more_layers_than_the_config_says(tmp_path, tensors):
    refused(write(tmp_path, tensors, num_hidden_layers=1), "model.layers.1.", "not part of")


def test_integer_tensor(tmp_path, tensors):
    tensors[Q_PROJ] = tensors[Q_PROJ].astype(np.int8)
    refused(write(tmp_path, tensors), Q_PROJ, "I8")


def test_truncated_file(tmp_path, tensors):
    file = write(tmp_path, tensors) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    refused(tmp_path, str(file), "not a readable safetensors file")


def test_file_of_garbage(tmp_path, tensors):
    file = write(tmp_path, tensors) / "model.safetensors"
    file.write_bytes(b"not a checkpoint")
    refused(tmp_path, str(file), "not a readable safetensors file")


def test_missing_weights_file(tmp_path, tensors):
    (write(tmp_path, tensors) / "model.safetensors").unlink()
    refused(tmp_path, "there is no file", "model.safetensors")


def test_missing_config(tmp_path):
    refused(tmp_path, "there is no file", "config.json")


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_damaged_config(tmp_path, tensors, text):
    (write(tmp_path, tensors) / "config.json").write_text(text)
    refused(tmp_path, "config.json", "JSON")


def test_missing_shard(tmp_path, tensors):
    (write_shards(tmp_path, tensors) / "model-00002-of-00002.safetensors").unlink()
    refused(tmp_path, "there is no file", "model-00002-of-00002.safetensors")


def test_shard_without_the_tensor_that_the_index_promises(tmp_path, tensors):
    shard = write_shards(tmp_path, tensors) / "model-00001-of-00002.safetensors"
    held = safetensors_numpy.load_file(shard)
    lost = sorted(held)[0]
    del held[lost]
    safetensors_numpy.save_file(held, shard)
    refused(tmp_path, str(shard), lost, "missing")


def test_shard_outside_the_folder(tmp_path, tensors):
    folder = tmp_path / "model"
    folder.mkdir()
    index = write_shards(folder, tensors) / "model.safetensors.index.json"
    index.write_text(index.read_text().replace("model-00001", "../model-00001"))
    refused(folder, "../model-00001", "not the name of a file in this folder")


@pytest.mark.parametrize(
    ("changes", "needles"),
    [
        ({"model_type": "qwen2"}, ["model_type", "'qwen2'", "'llama'"]),
        ({"model_type": None}, ["model_type", "None"]),
        ({"attention_bias": True}, ["attention_bias", "biases"]),
        ({"mlp_bias": True}, ["mlp_bias", "biases"]),
        ({"hidden_act": "gelu"}, ["hidden_act", "'gelu'"]),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, ["'yarn'", "not supported"]),
        ({"rope_scaling": {"type": "linear", "factor": 4.0}}, ["'linear'", "not supported"]),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 4.0}}, ["'low_freq_factor'"]),
        ({"partial_rotary_factor": 0.5}, ["partial_rotary_factor 0.5"]),
        ({"hidden_size": None}, ["'hidden_size' is missing"]),
        ({"num_key_value_heads": 3}, ["config.json", "multiple of n_kv_heads"]),
        ({"num_attention_heads": "4"}, ["config.json", "n_heads"]),
    ],
)
def test_unsupported_config(tmp_path, tensors, changes, needles):
    refused(write(tmp_path, tensors, **changes), "config.json", *needles)


def test_a_checkpoint_error_is_a_value_error():
    assert issubclass(CheckpointError, ValueError)


# GGUF files


gguf = pytest.importorskip("gguf", reason="gguf is not installed")


def write_gguf(path: Path, params: dict, *, architecture="llama", quantised=(), **changes) -> Path:
    """A GGUF file of CONFIG; `changes` replaces metadata, None leaves a key out."""
    writer = gguf.GGUFWriter(path, architecture)
    metadata = {
        "block_count": CONFIG.n_layers,
        "embedding_length": CONFIG.d_model,
        "feed_forward_length": CONFIG.d_ff,
        "attention.head_count": CONFIG.n_heads,
        "attention.head_count_kv": CONFIG.n_kv_heads,
        "rope.freq_base": CONFIG.rope_theta,
        "attention.layer_norm_rms_epsilon": CONFIG.norm_eps,
    }
    for key, value in (metadata | changes).items():
        full = f"{architecture}.{key}"
        if isinstance(value, str):
            writer.add_string(full, value)
        elif isinstance(value, float):
            writer.add_float32(full, value)
        elif value is not None:
            writer.add_uint32(full, value)
    for name, value in params.items():
        add_tensor(writer, gguf_name(name), value, quantised=name in quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gguf_name(name: str) -> str:
    whole = {"embedding": "token_embd", "final_norm": "output_norm", "lm_head": "output"}
    if name in whole:
        return f"{whole[name]}.weight"
    if not name.startswith("layers."):
        return name
    _, layer, short = name.split(".")
    return f"blk.{layer}.{GGUF_NAMES[short]}.weight"


def add_tensor(writer, name: str, value: np.ndarray, quantised: bool) -> None:
    if value.ndim == 2 and name != "token_embd.weight":
        value = value.T
    value = np.ascontiguousarray(value)
    if quantised:
        kind = gguf.GGMLQuantizationType.Q8_0
        writer.add_tensor(name, gguf.quants.quantize(value, kind), raw_dtype=kind)
    else:
        writer.add_tensor(name, value)


def refused_gguf(path: Path, *needles: str) -> None:
    with pytest.raises(CheckpointError) as refusal:
        load_gguf(path)
    for needle in (path.name, *needles):
        assert needle in str(refusal.value)


def test_gguf_file(tmp_path, params):
    config, found = load_gguf(write_gguf(tmp_path / "tiny.gguf", params))
    assert config == CONFIG.to_dict()
    assert_same(found, params)


def test_gguf_file_with_tied_embeddings(tmp_path, params):
    del params["lm_head"]
    config, found = load_gguf(write_gguf(tmp_path / "tiny.gguf", params))
    assert config["tied"] is True
    assert_same(found, params)


def test_gguf_file_with_quantised_and_float16_tensors(tmp_path, params):
    params["layers.0.w_up"] = params["layers.0.w_up"].astype(np.float16)
    quantised = ("layers.1.w_q", "layers.0.w_down")
    _, found = load_gguf(write_gguf(tmp_path / "tiny.gguf", params, quantised=quantised))
    for name, value in found.items():
        assert value.dtype == np.float32
        error = np.abs(value - params[name]).max()
        # Q8_0 rounds to 1/127 of a block's largest entry at the coarsest.
        coarsest = np.abs(params[name]).max() / 127
        assert (0 < error <= coarsest) if name in quantised else error == 0


def test_gguf_missing_tensor(tmp_path, params):
    del params["layers.1.w_k"]
    refused_gguf(write_gguf(tmp_path / "a.gguf", params), "blk.1.attn_k.weight", "missing")


def test_gguf_wrong_shape(tmp_path, params):
    params["layers.1.w_k"] = params["layers.1.w_k"][:, :-1]
    path = write_gguf(tmp_path / "a.gguf", params)
    refused_gguf(path, "blk.1.attn_k.weight", "(32, 15)", "(32, 16)")


def test_gguf_unexpected_tensor(tmp_path, params):
    params["blk.0.attn_q.bias"] = np.zeros(32, dtype=np.float32)
    refused_gguf(write_gguf(tmp_path / "a.gguf", params), "blk.0.attn_q.bias", "not part of")


def test_gguf_with_rescaled_rope(tmp_path, params):
    path = write_gguf(tmp_path / "a.gguf", params, **{"rope.scaling.type": "linear"})
    refused_gguf(path, "'linear'", "not supported")
    params["rope_freqs.weight"] = np.ones(4, dtype=np.float32)
    refused_gguf(write_gguf(tmp_path / "b.gguf", params), "rope_freqs.weight", "RoPE")


def test_gguf_with_partly_rotated_heads(tmp_path, params):
    path = write_gguf(tmp_path / "a.gguf", params, **{"rope.dimension_count": 4})
    refused_gguf(path, "8 wide with 4 rotated")


def test_gguf_of_another_architecture(tmp_path, params):
    refused_gguf(write_gguf(tmp_path / "a.gguf", params, architecture="qwen2"), "'qwen2'")


def test_gguf_missing_metadata(tmp_path, params):
    path = write_gguf(tmp_path / "a.gguf", params, block_count=None)
    refused_gguf(path, "llama.block_count", "missing")


@pytest.mark.parametrize(
    ("changes", "needle"),
    [
        ({"attention.head_count": 0}, "llama.attention.head_count is 0"),
        ({"attention.head_count_kv": 3}, "4 query heads cannot share 3"),
        ({"attention.head_count_kv": "2"}, "llama.attention.head_count_kv is '2'"),
        ({"attention.key_length": 7}, "7 wide"),
    ],
)
def test_gguf_with_impossible_sizes(tmp_path, params, changes, needle):
    refused_gguf(write_gguf(tmp_path / "a.gguf", params, **changes), needle)


@pytest.mark.parametrize("kept", [0, 3, 100, -200])
def test_gguf_truncated(tmp_path, params, kept):
    path = write_gguf(tmp_path / "a.gguf", params)
    path.write_bytes(path.read_bytes()[:kept])
    refused_gguf(path, "not a readable GGUF file")


def test_gguf_missing_file(tmp_path):
    refused_gguf(tmp_path / "a.gguf", "there is no file")
