"""Part 10's two loops, the model answer and the record: right, and capturable.

There is no GPU here. What only CUDA can do, capture a graph, is played by a fake that records the
operations of the captured step and carries them out again on the same tensors, as a graph does: a
position frozen in the step, or an address that changes, shows."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from decode_support import (  # noqa: E402, F401
    LLAMA,
    LLAMAS,
    PROMPT,
    STEPS,
    FakeCuda,
    decode,
    empty_cache,
    llama,
    on_fake_cuda,
    some_tokens,
    watched_steps,
)

import reference_model as reference  # noqa: E402
from assignment.harness.parts import PARTS  # noqa: E402
from benchmarks.decode import device_step, record  # noqa: E402
from solution import decode_torch  # noqa: E402

ROOT = Path(__file__).parent.parent
ANSWER = SimpleNamespace(
    cache=decode_torch.StaticCache,
    prefill=decode_torch.prefill,
    step=decode_torch.decode_step,
    static_step=decode_torch.static_step,
    generate=decode_torch.generate,
)
RECORD = SimpleNamespace(
    cache=record.RecordCache,
    prefill=record.prefill,
    step=record.decode_step,
    static_step=device_step.device_step,
    generate=record.generate,
)


@pytest.fixture(params=[ANSWER, RECORD], ids=["answer", "record"])
def loop(request) -> SimpleNamespace:
    return request.param


def logits_of(loop, model, tokens, step: str = "step", max_len: int = PROMPT + STEPS):
    cache = empty_cache(loop.cache, model, len(tokens), max_len)
    return decode(model, tokens, cache, loop.prefill, getattr(loop, step)), cache


def expected_logits(config, params, tokens):
    return reference.llama_logits(config, params, tokens.numpy())[:, PROMPT - 1 :]


@pytest.mark.parametrize("step", ["step", "static_step"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", LLAMAS)
def test_logits_are_the_references(loop, name, batch, step):
    model, params = llama(LLAMAS[name])
    tokens = some_tokens(batch)
    got, _ = logits_of(loop, model, tokens, step)
    assert np.abs(got - expected_logits(LLAMAS[name], params, tokens)).max() <= 1e-10


@pytest.mark.parametrize(("dtype", "largest"), [(torch.float32, 1e-5), (torch.bfloat16, 0.15)])
@pytest.mark.parametrize("step", ["step", "static_step"])
def test_lower_precision_is_as_near_as_its_digits(loop, dtype, largest, step):
    model, params = llama(dtype=dtype)
    tokens = some_tokens(2)
    got, _ = logits_of(loop, model, tokens, step)
    assert np.abs(got - expected_logits(LLAMA, params, tokens)).max() <= largest


def test_generate_is_the_references_greedy_continuation(loop):
    model, params = llama()
    tokens = some_tokens(2, PROMPT)
    got = loop.generate(model, tokens, 6)
    expected = reference.greedy_continuation(LLAMA, params, tokens.numpy(), 6)
    assert got.dtype == torch.int64
    np.testing.assert_array_equal(got.numpy(), np.asarray(expected))
    assert loop.generate(model, tokens, 0).shape == (2, 0)


@pytest.mark.parametrize(("first", "new_tokens"), [(40, 6), (PROMPT, 129)])
def test_a_generation_leaves_nothing_behind_for_the_next(
    loop,
    on_fake_cuda,  # noqa: F811
    first,
    new_tokens,
):
    """The cache and its graph are used again; what the longer text left there is masked."""
    model, params = llama()
    loop.generate(model, some_tokens(2, first), new_tokens)
    (cache,) = model.kept.values()
    tokens = some_tokens(2, PROMPT)
    for n in (1, 6):
        got = loop.generate(model, tokens, n)
        expected = reference.greedy_continuation(LLAMA, params, tokens.numpy(), n)
        np.testing.assert_array_equal(got.numpy(), np.asarray(expected))
    assert list(model.kept.values()) == [cache]
    assert on_fake_cuda.log.count("capture") == 1


def test_a_short_text_does_not_read_a_long_ones_cache(loop):
    """A captured step reads all of its cache."""
    model, _ = llama()
    loop.generate(model, some_tokens(1, 900), 1)
    loop.generate(model, some_tokens(1, PROMPT), 1)
    (cache,) = model.kept.values()
    assert cache.max_len < 300


def test_a_cache_that_is_dropped_is_freed_at_once(loop, on_fake_cuda):  # noqa: F811
    """On a GPU it would hold its memory until Python looks for reference cycles."""
    model, _ = llama()
    gc.disable()
    try:
        _, cache = logits_of(loop, model, some_tokens(1))
        seen = weakref.ref(cache)
        del cache
        assert seen() is None
        loop.generate(model, some_tokens(1), 3)
        seen = weakref.ref(model)
        del model
        assert seen() is None
    finally:
        gc.enable()


def test_a_cache_may_be_used_by_another_model(loop, on_fake_cuda):  # noqa: F811
    tokens = some_tokens(1)
    cache = empty_cache(loop.cache, llama()[0], 1)
    for config in (LLAMA, LLAMAS["tied"]):
        model, params = llama(config)
        cache.n_held = 0
        cache.length.zero_()
        got = decode(model, tokens, cache, loop.prefill, loop.step)
        assert np.abs(got - expected_logits(config, params, tokens)).max() <= 1e-10


def test_prefill_continues_a_cache(loop):
    model, params = llama()
    tokens, cache = some_tokens(2), empty_cache(loop.cache, model, 2)
    for chunk in tokens.split([3, 1, 8], dim=1):
        got = loop.prefill(model, chunk, cache)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, -1]
    assert np.abs(got.numpy() - expected).max() <= 1e-10


def test_a_full_cache_refuses(loop):
    model, _ = llama()
    cache = empty_cache(loop.cache, model, 1, max_len=PROMPT)
    loop.prefill(model, some_tokens(1, PROMPT), cache)
    with pytest.raises(ValueError, match="6 positions, its max_len is 5"):
        loop.step(model, torch.tensor([1]), cache)
    with pytest.raises(ValueError, match="7 positions"):
        loop.prefill(model, some_tokens(1, 2), cache)


def test_fused_weights_and_plain_ones_are_the_same_memory():
    model, _ = llama()
    model.params["layers.1.w_k"].fill_(3.0)
    assert (model.fused["layers.1.w_qkv"] == 3.0).sum() == model.params["layers.1.w_k"].numel()


# What a step allocates, asks and makes


def test_a_static_step_copies_no_keys(loop):
    keys = 2 * 200 * LLAMA.n_kv_heads * LLAMA.head_dim
    # In bfloat16 a cache of two sequences lies in memory on a CPU as on a device.
    for watch in watched_steps(loop.static_step, loop.prefill, loop.cache, torch.bfloat16, batch=2):
        assert max(watch.allocated) < keys


def test_a_static_step_has_static_shapes_and_asks_nothing(loop):
    first, second = watched_steps(loop.static_step, loop.prefill, loop.cache)
    assert first.names == second.names
    assert first.shapes == second.shapes
    assert not any("_local_scalar_dense" in name or "nonzero" in name for name in first.names)


def test_the_watch_sees_a_repeated_cache_and_a_question():
    """Breaks what the tests above look for."""

    def careless(model, token, cache):
        keys = cache.keys[0].repeat_interleave(LLAMA.n_heads // LLAMA.n_kv_heads, dim=1)
        return keys[:, :, : int(cache.length)]

    (watch,) = watched_steps(careless, ANSWER.prefill, ANSWER.cache, n=1)
    assert max(watch.allocated) >= 200 * LLAMA.n_heads * LLAMA.head_dim
    assert any("_local_scalar_dense" in name for name in watch.names)


# The CUDA path, on a fake


def test_a_captured_step_gives_the_references_logits(loop, on_fake_cuda):  # noqa: F811
    model, params = llama()
    tokens = some_tokens(2)
    got, cache = logits_of(loop, model, tokens)
    assert np.abs(got - expected_logits(LLAMA, params, tokens)).max() <= 1e-10
    assert int(cache.length) == cache.n_held == PROMPT + STEPS


def test_one_capture_and_then_replays_alone(loop, on_fake_cuda):  # noqa: F811
    model, params = llama()
    tokens = some_tokens(2, PROMPT)
    got = loop.generate(model, tokens, 6)
    np.testing.assert_array_equal(
        got.numpy(), np.asarray(reference.greedy_continuation(LLAMA, params, tokens.numpy(), 6))
    )
    set_up = ["side waits", "side begins", "side ends", "current waits", "capture"]
    assert on_fake_cuda.log == set_up + ["replay"] * 5


def test_capture_at_the_last_position_stays_inside_the_cache(loop, on_fake_cuda):  # noqa: F811
    """Warm-ups run the step several times; each must run at the same position."""
    model, params = llama()
    tokens = some_tokens(1, PROMPT + 1)
    got, _ = logits_of(loop, model, tokens, max_len=PROMPT + 1)
    assert np.abs(got - expected_logits(LLAMA, params, tokens)).max() <= 1e-10


def test_the_fake_sees_a_frozen_position(on_fake_cuda):  # noqa: F811
    """A Python number in a captured step is the bug that cache.length as a tensor prevents."""
    model, _ = llama()

    def frozen(model, token, cache):
        out[cache.n_held] = 1.0
        cache.n_held += 1

    def right(model, token, cache):
        out.index_fill_(0, cache.length.view(1), 1.0)
        cache.length.add_(1)

    for step, positions_written in ((frozen, 1), (right, 2)):
        cache, out = empty_cache(ANSWER.cache, model, 1), torch.zeros(9)
        captured = decode_torch.CapturedStep(model, cache, step)
        out.zero_()
        captured(torch.tensor([1]))
        captured(torch.tensor([1]))
        assert int(out.sum()) == positions_written


# The homework around it


def run_part10(*arguments: str, without_torch: bool = False) -> subprocess.CompletedProcess:
    hidden = "sys.modules['torch'] = None; " if without_torch else ""
    program = f"import sys; {hidden}import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "-p", "no:cacheprovider", "assignment/", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_solution_gets_all_points_of_part_10():
    result = run_part10("-k", "part10", "--impl", "solution")
    assert result.returncode == 0, result.stdout
    assert "Part 10 (extra): 12 / 12 points" in result.stdout


@pytest.mark.slow
def test_the_stubs_of_part_10_get_none():
    result = run_part10("-k", "part10")
    assert result.returncode == 1
    assert "Part 10 (extra): 0 / 12 points" in result.stdout
    assert "10.2 grouped_attention is not implemented yet" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


@pytest.mark.slow
def test_without_torch_one_line_says_so_and_the_other_parts_run():
    result = run_part10(without_torch=True)
    assert result.stdout.count("part 10 needs torch: pip install torch") == 1
    lines = [line for line in result.stdout.splitlines() if line.startswith("Part ")]
    assert len(lines) == len(PARTS)
    asked = run_part10("-k", "part10", without_torch=True)
    assert "part 10 needs torch: pip install torch" in asked.stdout
    assert "Traceback" not in asked.stdout + asked.stderr


def test_nobody_who_does_not_ask_imports_torch():
    program = (
        "import sys, pytest; pytest.main(['-q', 'assignment/', '-k', 'part1', '--collect-only']); "
        "sys.exit('torch' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "test_part1_attention" in result.stdout
    assert "test_part10" not in result.stdout


# ---- The record loop: what its step on a CPU allocates, how its cache lies, and latent attentio


from decode_support import (  # noqa: E402
    LLAMAS,
    PROMPT,
    STEPS,
)

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
