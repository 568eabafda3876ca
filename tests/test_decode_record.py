"""The record loop: what its step on a CPU allocates, how its cache lies, and latent attention."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from decode_support import (  # noqa: E402
    LLAMA,
    LLAMAS,
    PROMPT,
    STEPS,
    decode,
    empty_cache,
    llama,
    some_tokens,
    watched_steps,
)

import reference_model as reference  # noqa: E402
from benchmarks.decode import c_step, mla, products, record  # noqa: E402
from benchmarks.decode.host_step import HostStep  # noqa: E402
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


@pytest.fixture
def no_compiler(monkeypatch):
    """A machine on which step.c cannot be compiled."""
    monkeypatch.setenv("CC", "no-such-compiler")
    c_step.library.cache_clear()
    yield
    c_step.library.cache_clear()


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


needs_compiler = pytest.mark.skipif(
    c_step.library(torch.float32) is None, reason="no C compiler with OpenMP"
)


@needs_compiler
@pytest.mark.parametrize(("dtype", "largest"), [(torch.float32, 1e-5), (torch.bfloat16, 0.15)])
@pytest.mark.parametrize("name", LLAMAS)
def test_the_c_steps_logits_are_the_references(name, dtype, largest, threads):
    model, params = llama(LLAMAS[name], dtype)
    tokens, cache = some_tokens(1), empty_cache(record.RecordCache, model, 1)
    got = decode(model, tokens, cache, record.prefill, record.decode_step)
    assert isinstance(cache.step, c_step.CStep)
    expected = reference.llama_logits(LLAMAS[name], params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= largest
    assert int(cache.length) == cache.n_held == PROMPT + STEPS


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("config", [LLAMA, dataclasses.replace(LLAMA, d_ff=70, head_dim=20)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_c_step_beyond_one_block_of_positions_is_the_host_steps(config, dtype, threads):
    """Also where no size is a multiple of a vector, wherever d_h lies side by side or not."""
    model, _ = llama(config, dtype)
    tokens, caches = some_tokens(1, 1100), []
    for kind in (c_step.CStep, HostStep):
        cache = empty_cache(record.RecordCache, model, 1, 1103)
        if kind is HostStep:
            cache.keys_and_values = cache.keys_and_values.contiguous()
            cache.keys = list(cache.keys_and_values[:, 0])
            cache.values = list(cache.keys_and_values[:, 1])
        record.prefill(model, tokens, cache)
        cache.step = kind(model, cache)
        caches.append(cache)
    for token in torch.tensor([[3], [1], [2]]):
        got, expected = (record.decode_step(model, token, cache).clone() for cache in caches)
        assert (got - expected).abs().max() <= (2e-5 if dtype == torch.float32 else 0.1)
    near = 1e-5 if dtype == torch.float32 else 0.05
    mine, hosts = (cache.keys_and_values[..., 1100:, :] for cache in caches)
    assert (mine - hosts).abs().max() <= near


@needs_compiler
def test_the_c_step_reads_a_cache_either_way():
    model, params = llama(dtype=torch.float32)
    tokens, cache = some_tokens(1), empty_cache(record.RecordCache, model, 1)
    cache.keys_and_values = cache.keys_and_values.contiguous()
    cache.keys, cache.values = map(list, cache.keys_and_values.unbind(1))
    got = decode(model, tokens, cache, record.prefill, record.decode_step)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= 1e-5


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false", "true", ""])
def test_without_a_compiler_that_works_the_step_is_torchs(no_compiler, monkeypatch, compiler):
    monkeypatch.setenv("CC", compiler)
    model, params = llama(dtype=torch.float32)
    tokens, cache = some_tokens(1), empty_cache(record.RecordCache, model, 1)
    got = decode(model, tokens, cache, record.prefill, record.decode_step)
    assert isinstance(cache.step, HostStep)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= 1e-5


def test_several_sequences_and_float64_are_torchs_matter():
    assert not c_step.can_step("cpu", torch.float32, batch_size=2)
    assert not c_step.can_step("cpu", torch.float64, batch_size=1)
    assert not c_step.can_step("cuda", torch.float32, batch_size=1)


def test_a_cache_lies_as_its_products_read_it(no_compiler):
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


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("by_rows", [True, False])
def test_every_way_to_multiply_makes_the_same_product(one_thread, batch, dtype, by_rows):
    x, w = torch.randn(batch, 20).to(dtype), torch.randn(20, 24).to(dtype)
    w = w if by_rows else w.t().contiguous().t()
    out, total = torch.empty(batch, 24, dtype=dtype), torch.ones(batch, 24, dtype=dtype)
    near = 1e-5 if dtype == torch.float32 else 0.1
    found = products.ways(x, w, out), products.adding_ways(x, w, total)
    names = ["mm"] if batch == 2 else ["mm", "mv", "numpy"][: 3 if dtype == torch.float32 else 2]
    assert [list(f) for f in found] == [names, names]
    for name in names:
        out.zero_()
        total.fill_(1)
        for f in found:
            f[name]()
        assert (out - x @ w).abs().max() <= near
        assert (total - 1 - x @ w).abs().max() <= near


@pytest.mark.parametrize("quick", ["mm", "mv", "numpy"])
def test_a_step_takes_the_way_that_is_fastest_here(one_thread, no_compiler, monkeypatch, quick):
    """And gives the same logits by each."""
    monkeypatch.setattr(products, "_least_seconds", lambda found: next(seconds))
    seconds = iter([1.0 if name == quick else 2.0 for name in ("mm", "mv", "numpy")])
    model, params = llama(dtype=torch.float32)
    tokens, cache = some_tokens(1), empty_cache(record.RecordCache, model, 1)
    got = decode(model, tokens, cache, record.prefill, record.decode_step)
    assert cache.step.way == quick
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= 1e-5


def test_numpys_threads_are_not_mixed_with_torchs(threads):
    x, w, out = torch.ones(1, 4), torch.ones(4, 3), torch.empty(1, 3)
    assert ("numpy" in products.ways(x, w, out)) == (threads == 1)


def watched(dtype, batch=1):
    return watched_steps(record.decode_step, record.prefill, record.RecordCache, dtype, batch)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_on_a_cpu_allocates_nothing(no_compiler, dtype, batch):
    for watch in watched(dtype, batch):
        assert len(watch.names) > 50
        assert watch.allocated == []


def test_a_bfloat16_step_allocates_the_heads_alone(no_compiler):
    for watch in watched(torch.bfloat16):
        heads = LLAMA.n_heads * LLAMA.head_dim
        assert max(watch.allocated, default=0) <= heads
        assert len(watch.allocated) <= 2 * LLAMA.n_layers
