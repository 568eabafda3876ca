"""The record loop: what its step on a CPU allocates, how its cache lies, and latent attention."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from decode_support import (  # noqa: E402
    LLAMA,
    PROMPT,
    STEPS,
    decode,
    some_tokens,
    watched_steps,
)

import reference_model as reference  # noqa: E402
from benchmarks.decode import mla, record  # noqa: E402
from solution import torch_model  # noqa: E402

MLA = reference.MLAConfig("mla", 2, 36, 3, 10, 6, 4, 5, None, 40, 37, rope_theta=300.0)
MLAS = {"one matrix": MLA, "compressed": dataclasses.replace(MLA, query_latent_dim=9)}


@pytest.mark.parametrize("name", MLAS)
def test_absorbed_mla_is_the_references(name):
    config = MLAS[name]
    params = reference.init_mla(config, seed=0)
    model = torch_model.TorchMLATransformer(config.to_dict(), params, dtype=torch.float64)
    tokens = some_tokens(2)
    expected = reference.mla_logits(config, params, tokens.numpy())[:, PROMPT - 1 :]
    for step in (mla.mla_decode_step, mla.mla_device_step):
        cache = mla.MLAStaticCache(config, 2, PROMPT + STEPS, "cpu", torch.float64)
        got = decode(model, tokens, cache, mla.mla_prefill, step)
        assert np.abs(got - expected).max() <= 1e-10
    greedy = mla.mla_generate(model, tokens, 4)
    assert greedy[:, 0].tolist() == expected[:, -1].argmax(-1).tolist()


def test_a_cache_lies_as_its_products_read_it():
    """Float32 on a CPU: MKL's products. Elsewhere torch's attention, which wants d_h together."""
    for dtype, device, together in [
        (torch.float32, "cpu", 2),
        (torch.bfloat16, "cpu", 3),
        (torch.float32, "meta", 3),
    ]:
        cache = record.RecordCache(LLAMA.to_dict(), 2, 32, device, dtype)
        for x in (*cache.keys, *cache.values):
            assert x.shape == (2, LLAMA.n_kv_heads, 32, LLAMA.head_dim)
            assert x.stride(together) == 1


def watched(dtype, batch=1):
    return watched_steps(record.decode_step, record.prefill, record.RecordCache, dtype, batch)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_on_a_cpu_allocates_nothing(dtype, batch):
    for watch in watched(dtype, batch):
        assert len(watch.names) > 50
        assert watch.allocated == []


def test_a_bfloat16_step_allocates_the_heads_alone():
    for watch in watched(torch.bfloat16):
        heads = LLAMA.n_heads * LLAMA.head_dim
        assert max(watch.allocated, default=0) <= heads
        assert len(watch.allocated) <= 2 * LLAMA.n_layers
