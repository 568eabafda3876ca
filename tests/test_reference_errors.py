"""What the oracle says when it is asked for something that makes no sense."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import reference_model as reference

LLAMA = reference.ModelConfig("llama", 2, 12, 4, 2, 6, 20, 23)
MLA = reference.MLAConfig("mla", 2, 12, 4, 7, 5, 6, 3, None, 20, 23)
TOKENS = np.arange(6).reshape(2, 3)
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_kv_heads": 3}, "n_heads must be a multiple of n_kv_heads.*4 query heads"),
        ({"head_dim": 5}, "head_dim must be even.*5"),
        ({"n_layers": 0}, "n_layers must be a positive integer, not 0"),
        ({"d_ff": 2.5}, "d_ff must be a positive integer, not 2.5"),
        ({"vocab_size": True}, "vocab_size must be a positive integer, not True"),
        ({"rope_theta": -1.0}, "rope_theta must be a positive number, not -1.0"),
        ({"norm_eps": float("nan")}, "norm_eps must be a positive number"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "'yarn' is not supported"),
        ({"rope_scaling": LLAMA3 | {"factor": None}}, r"rope_scaling\['factor'\]"),
        ({"rope_scaling": LLAMA3 | {"high_freq_factor": 1.0}}, "high_freq_factor greater than"),
    ],
)
def test_impossible_llama_configs(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(LLAMA, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_dim": 3}, "rope_dim must be even"),
        ({"latent_dim": 0}, "latent_dim must be a positive integer"),
        ({"query_latent_dim": 0}, "query_latent_dim must be a positive integer"),
        ({"latent_norm_eps": 0}, "latent_norm_eps must be a positive number"),
    ],
)
def test_impossible_mla_configs(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(MLA, **changes)


@pytest.mark.parametrize("config", [LLAMA, MLA, replace(LLAMA, rope_scaling=LLAMA3)])
def test_configs_survive_the_trip_through_a_dict(config):
    assert reference.as_config(config.to_dict()) == config


def test_rope_scaling_is_left_out_of_the_dict_when_unset():
    assert "rope_scaling" not in LLAMA.to_dict()


def test_config_dicts_with_wrong_keys():
    with pytest.raises(ValueError, match="unknown ModelConfig key 'heads'"):
        reference.as_config(LLAMA.to_dict() | {"heads": 3})
    incomplete = LLAMA.to_dict()
    del incomplete["d_ff"]
    with pytest.raises(ValueError, match=r"incomplete ModelConfig .*'d_ff'"):
        reference.as_config(incomplete)


@pytest.mark.parametrize("config", [LLAMA, MLA])
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[0, 23]], r"token id 23 is outside the vocabulary 0\.\.22"),
        ([[0, -1]], "token id -1 is outside"),
        ([[0.0, 1.0]], "token ids are integers, not float64"),
        ([0, 1], r"must have shape \(B,T\).*\(2,\)"),
        (np.zeros((2, 0), dtype=int), r"must have shape \(B,T\).*\(2, 0\)"),
    ],
)
def test_wrong_tokens(config, tokens, message):
    with pytest.raises(ValueError, match=message):
        run(config, made(config), tokens)


@pytest.mark.parametrize("config", [LLAMA, MLA])
@pytest.mark.parametrize("name", ["embedding", "layers.1.w_o", "layers.0.mlp_norm", "lm_head"])
def test_wrong_parameters_are_named(config, name):
    params = made(config)
    missing = {key: value for key, value in params.items() if key != name}
    with pytest.raises(ValueError, match=rf"parameter '{name}' of shape .* is missing"):
        run(config, missing, TOKENS)
    misshapen = params | {name: params[name][:-1]}
    with pytest.raises(ValueError, match=rf"parameter '{name}' has shape .* but the config needs"):
        run(config, misshapen, TOKENS)


@pytest.mark.parametrize("config", [LLAMA, MLA])
def test_unexpected_parameters_are_named(config):
    params = made(config)
    with pytest.raises(ValueError, match=r"'layers\.2\.w_q' is not part of this model"):
        run(config, params | {"layers.2.w_q": np.zeros((2, 2))}, TOKENS)
    with pytest.raises(ValueError, match=r"'lm_head' is not part.*tied=True"):
        run(replace(config, tied=True), params, TOKENS)


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (np.arange(4), r"positions of shape \(4,\) do not fit"),
        (np.arange(3.0), "positions are integers, not float64"),
        (np.zeros((3, 3), dtype=int), r"positions of shape \(3, 3\) do not fit"),
    ],
)
def test_wrong_positions(positions, message):
    with pytest.raises(ValueError, match=message):
        reference.llama_logits(LLAMA, made(LLAMA), TOKENS, positions=positions)


def test_each_model_wants_its_own_config():
    for function, config in [
        (reference.llama_logits, MLA),
        (reference.mla_logits, LLAMA),
    ]:
        with pytest.raises(ValueError, match=f"{function.__name__} needs a"):
            function(config, {}, TOKENS)
    for function, config in [(reference.init_llama, MLA), (reference.init_mla, LLAMA)]:
        with pytest.raises(ValueError, match=f"{function.__name__} needs a"):
            function(config, 0)


def test_decode_trace_wants_equal_batches():
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(1, 1\)"):
        reference.decode_trace(LLAMA, made(LLAMA), TOKENS, [[1]])


def test_attention_refuses_what_has_no_answer():
    q, k = np.zeros((2, 4)), np.zeros((3, 4))
    with pytest.raises(ValueError, match="-inf everywhere"):
        reference.attention(q, k, k, np.zeros((2, 3), dtype=bool))
    with pytest.raises(ValueError, match=r"a mask is boolean.*float64"):
        reference.attention(q, k, k, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="queries are 4 wide but keys 2"):
        reference.attention(q, k[:, :2], k)
    with pytest.raises(ValueError, match="4 queries cannot be the last of only 3"):
        reference.causal_mask(4, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reference.split_heads(np.zeros((1, 1, 7)), 2), "7 does not split into 2 heads"),
        (lambda: reference.mean_pool_kv_heads(np.zeros((3, 6)), 3, 2), "cannot pool 6 columns"),
        (lambda: reference.rope_frequencies(3), "head_dim must be even, not 3"),
        (lambda: reference.temperature([1.0], 0), "temperature must be positive, not 0"),
        (lambda: reference.top_k([1.0], 0), "at least one token, not 0"),
        (lambda: reference.top_p([1.0], 0), "above 0 and at most 1, not 0"),
        (lambda: reference.top_p([1.0], 1.5), "above 0 and at most 1, not 1.5"),
    ],
)
def test_other_nonsense(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_three_query_heads_cannot_share_two_groups():
    q, k = np.zeros((1, 3, 2, 4)), np.zeros((1, 2, 2, 4))
    with pytest.raises(ValueError, match="3 query heads cannot share 2 key and 2 value heads"):
        reference.grouped_query_attention(q, k, k)


def test_importing_the_package_needs_numpy_only():
    program = (
        "import sys, reference_model; "
        "heavy = {'torch', 'transformers', 'safetensors', 'gguf', 'tokenizers', 'pydantic'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    folder = reference.__path__[0].removesuffix("reference_model")
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def made(config) -> dict[str, np.ndarray]:
    is_mla = isinstance(config, reference.MLAConfig)
    return (reference.init_mla if is_mla else reference.init_llama)(config, seed=0)


def run(config, params, tokens) -> np.ndarray:
    is_mla = isinstance(config, reference.MLAConfig)
    return (reference.mla_logits if is_mla else reference.llama_logits)(config, params, tokens)
