"""The oracle against an independent implementation: Hugging Face transformers, in float64.

Needs torch and transformers; where they are not installed these tests are skipped.
"""

from __future__ import annotations

import numpy as np
import pytest
from reference_huggingface import (
    build_deepseek,
    build_llama,
    deepseek_to_mla,
    huggingface_cached_decode,
    huggingface_logits,
)

import reference_model as reference
from reference_model.checkpoints import load_huggingface

pytestmark = pytest.mark.slow  # transformers alone takes seconds to import

TOLERANCE = 1e-10

LLAMA3_SCALING = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    # Short enough that a head of 16 has kept, blended and stretched pairs.
    "original_max_position_embeddings": 64,
}
LLAMAS = {
    "MHA": {"num_key_value_heads": 4},
    "GQA": {"num_key_value_heads": 2},
    "MQA": {"num_key_value_heads": 1},
    "head_dim other than d/H": {"num_key_value_heads": 2, "head_dim": 10},
    "tied": {"num_key_value_heads": 2, "tie_word_embeddings": True},
    "other theta and eps": {
        "num_key_value_heads": 2,
        "rms_norm_eps": 0.3,
        "rope_parameters": {"rope_type": "default", "rope_theta": 500.0},
    },
    "llama3 scaling": {
        "num_key_value_heads": 2,
        "head_dim": 16,
        "rope_parameters": LLAMA3_SCALING,
    },
}
DEEPSEEKS = {
    "queries from one matrix": {"q_lora_rank": None},
    "compressed queries": {"q_lora_rank": 12},
    "tied": {"q_lora_rank": None, "tie_word_embeddings": True},
    "other theta": {
        "q_lora_rank": 12,
        "rope_parameters": {"rope_type": "default", "rope_theta": 300.0},
    },
}


def some_tokens(seed: int, batch: int, length: int, vocab_size: int = 61) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, vocab_size, (batch, length))


@pytest.mark.parametrize("name", LLAMAS)
def test_llama_logits_agree_at_every_position(name, monkeypatch, tmp_path):
    model = build_llama(monkeypatch, seed=len(name), **LLAMAS[name])
    model.save_pretrained(tmp_path)
    config, params = load_huggingface(tmp_path)
    tokens = some_tokens(1, batch=2, length=40)

    logits = reference.llama_logits(config, params, tokens)
    expected = huggingface_logits(model, tokens)

    assert logits.shape == expected.shape == (2, 40, 61)
    assert expected.std() > 0.3
    assert np.max(np.abs(logits - expected)) <= TOLERANCE


def test_llama3_scaling_case_has_pairs_of_all_three_kinds():
    plain = reference.rope_frequencies(16, 10000.0)
    ratio = plain / reference.rope_frequencies(16, 10000.0, LLAMA3_SCALING)
    assert np.any(ratio == 1)
    assert np.any((ratio > 1.01) & (ratio < 7.99))
    assert np.any(np.abs(ratio - 8) < 1e-12)


@pytest.mark.parametrize("name", DEEPSEEKS)
def test_mla_logits_agree_at_every_position(name, monkeypatch):
    model = build_deepseek(monkeypatch, seed=len(name), **DEEPSEEKS[name])
    config, params = deepseek_to_mla(model)
    tokens = some_tokens(2, batch=2, length=40)

    logits = reference.mla_logits(config, params, tokens)
    expected = huggingface_logits(model, tokens)

    assert logits.shape == expected.shape == (2, 40, 61)
    assert expected.std() > 0.3
    assert np.max(np.abs(logits - expected)) <= TOLERANCE


def test_decode_trace_agrees_with_a_cached_llama_decode(monkeypatch, tmp_path):
    model = build_llama(monkeypatch, seed=3, **LLAMAS["GQA"])
    model.save_pretrained(tmp_path)
    config, params = load_huggingface(tmp_path)
    prompt, continuation = some_tokens(4, 2, 9), some_tokens(5, 2, 6)

    trace = reference.decode_trace(config, params, prompt, continuation)
    expected = huggingface_cached_decode(model, prompt, continuation)

    assert trace.shape == expected.shape == (7, 2, 61)
    assert np.max(np.abs(trace - expected)) <= TOLERANCE


def test_decode_trace_agrees_with_a_cached_deepseek_decode(monkeypatch):
    model = build_deepseek(monkeypatch, seed=6, **DEEPSEEKS["compressed queries"])
    config, params = deepseek_to_mla(model)
    prompt, continuation = some_tokens(7, 2, 9), some_tokens(8, 2, 6)

    trace = reference.decode_trace(config, params, prompt, continuation)
    expected = huggingface_cached_decode(model, prompt, continuation)

    assert np.max(np.abs(trace - expected)) <= TOLERANCE


def test_sharded_checkpoint_gives_the_same_parameters(monkeypatch, tmp_path):
    model = build_llama(monkeypatch, seed=9, **LLAMAS["GQA"])
    model.save_pretrained(tmp_path / "single")
    model.save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1

    _, single = load_huggingface(tmp_path / "single")
    _, sharded = load_huggingface(tmp_path / "sharded")

    assert single.keys() == sharded.keys()
    for name, value in single.items():
        np.testing.assert_array_equal(sharded[name], value, strict=True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_checkpoint_is_read_without_further_rounding(dtype, monkeypatch, tmp_path):
    import torch

    model = build_llama(monkeypatch, seed=10, **LLAMAS["GQA"]).to(getattr(torch, dtype))
    model.save_pretrained(tmp_path)
    _, params = load_huggingface(tmp_path)

    assert {value.dtype for value in params.values()} == {np.dtype(np.float32)}
    for ours, theirs in [
        ("embedding", "model.embed_tokens.weight"),
        ("layers.1.attention_norm", "model.layers.1.input_layernorm.weight"),
    ]:
        stored = model.state_dict()[theirs].float().numpy()
        np.testing.assert_array_equal(params[ours], stored, strict=True)
    stored = model.state_dict()["model.layers.2.mlp.up_proj.weight"].float().numpy()
    np.testing.assert_array_equal(params["layers.2.w_up"], stored.T, strict=True)
