"""Part 10's solution: right to rounding, nothing copied, nothing waited for, and capturable.

There is no GPU here. What only CUDA can do, capture a graph, is played by a fake that records the
operations of the captured step and carries them out again on the same tensors, as a graph does: a
position frozen in the step, or an address that changes, shows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from late import late

import reference_model as reference
from assignment.harness.parts import PARTS

torch, torch_watch = late("torch"), late("torch_watch")
decode_torch, torch_model = late("solution.decode_torch"), late("solution.torch_model")

ROOT = Path(__file__).parent.parent
LLAMA = reference.ModelConfig("llama", 3, 36, 6, 2, 8, 52, 37, rope_theta=300.0)
LLAMAS = {
    "GQA": LLAMA,
    "MQA": dataclasses.replace(LLAMA, n_kv_heads=1),
    "tied": dataclasses.replace(LLAMA, tied=True),
    "MHA": dataclasses.replace(LLAMA, n_kv_heads=6),
}
MLA = reference.MLAConfig("mla", 2, 36, 3, 10, 6, 4, 5, None, 40, 37, rope_theta=300.0)
MLAS = {"one matrix": MLA, "compressed": dataclasses.replace(MLA, query_latent_dim=9)}
PROMPT, STEPS = 5, 7


def llama(config=LLAMA, dtype="float64"):
    params = reference.init_llama(config, seed=0)
    model = torch_model.TorchTransformer(config.to_dict(), params, dtype=getattr(torch, dtype))
    return model, params


def some_tokens(batch: int, length: int = PROMPT + STEPS) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).integers(0, 37, (batch, length)))


def decode(model, tokens, cache, prefill=None, step=None):
    """Logits (B, steps + 1, V) after the prompt and after each further token, teacher-forced."""
    prefill, step = prefill or decode_torch.prefill, step or decode_torch.decode_step
    got = [prefill(model, tokens[:, :PROMPT], cache).clone()]
    got += [step(model, token, cache).clone() for token in tokens[:, PROMPT:].T]
    return torch.stack(got, dim=1).double().numpy()


def new_cache(model, batch: int, max_len: int = PROMPT + STEPS):
    return decode_torch.StaticCache(model.config, batch, max_len, "cpu", model.dtype)


@pytest.mark.parametrize("step", ["decode_step", "device_step"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", LLAMAS)
def test_logits_are_the_references(name, batch, step):
    model, params = llama(LLAMAS[name])
    tokens = some_tokens(batch)
    got = decode(model, tokens, new_cache(model, batch), step=getattr(decode_torch, step))
    expected = reference.llama_logits(LLAMAS[name], params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= 1e-10


@pytest.mark.parametrize(("dtype", "largest"), [("float32", 1e-5), ("bfloat16", 0.15)])
@pytest.mark.parametrize("step", ["decode_step", "device_step"])
def test_lower_precision_is_as_near_as_its_digits(dtype, largest, step):
    model, params = llama(dtype=dtype)
    tokens = some_tokens(2)
    got = decode(model, tokens, new_cache(model, 2), step=getattr(decode_torch, step))
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= largest


@pytest.mark.parametrize("name", MLAS)
def test_absorbed_mla_is_the_references(name):
    config = MLAS[name]
    params = reference.init_mla(config, seed=0)
    model = torch_model.TorchMLATransformer(config.to_dict(), params, dtype=torch.float64)
    tokens = some_tokens(2)
    expected = reference.mla_logits(config, params, tokens.numpy())[:, PROMPT - 1 :]
    for step in (decode_torch.mla_decode_step, decode_torch.mla_device_step):
        cache = decode_torch.MLAStaticCache(config, 2, PROMPT + STEPS, "cpu", torch.float64)
        got = decode(model, tokens, cache, decode_torch.mla_prefill, step)
        assert np.abs(got - expected).max() <= 1e-10
    greedy = decode_torch.mla_generate(model, tokens, 4)
    assert greedy[:, 0].tolist() == expected[:, -1].argmax(-1).tolist()


def test_generate_is_the_references_greedy_continuation():
    model, params = llama()
    tokens = some_tokens(2, PROMPT)
    got = decode_torch.generate(model, tokens, 6)
    expected = reference.greedy_continuation(LLAMA, params, tokens.numpy(), 6)
    assert got.dtype == torch.int64
    np.testing.assert_array_equal(got.numpy(), np.asarray(expected))


def test_a_generation_leaves_nothing_behind_for_the_next(on_fake_cuda):
    """The cache and its graph are used again; what the longer text left there is masked."""
    model, params = llama()
    decode_torch.generate(model, some_tokens(2, 40), 6)
    (cache,) = model.kept.values()
    tokens = some_tokens(2, PROMPT)
    got = decode_torch.generate(model, tokens, 6)
    expected = reference.greedy_continuation(LLAMA, params, tokens.numpy(), 6)
    np.testing.assert_array_equal(got.numpy(), np.asarray(expected))
    assert list(model.kept.values()) == [cache]
    assert on_fake_cuda.log.count("capture") == 1


def test_prefill_continues_a_cache():
    model, params = llama()
    tokens, cache = some_tokens(2), new_cache(model, 2)
    for chunk in tokens.split([3, 1, 8], dim=1):
        got = decode_torch.prefill(model, chunk, cache)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, -1]
    assert np.abs(got.numpy() - expected).max() <= 1e-10


def test_a_cache_lies_as_its_products_read_it():
    """Float32 on a CPU: MKL's products. Elsewhere torch's attention, which wants d_h together."""
    for dtype, device, together in [
        (torch.float32, "cpu", 2),
        (torch.bfloat16, "cpu", 3),
        (torch.float32, "meta", 3),
    ]:
        cache = decode_torch.StaticCache(LLAMA.to_dict(), 2, 32, device, dtype)
        for x in (*cache.keys, *cache.values):
            assert x.shape == (2, LLAMA.n_kv_heads, 32, LLAMA.head_dim)
            assert x.stride(together) == 1


def test_a_full_cache_refuses():
    model, _ = llama()
    cache = new_cache(model, 1, max_len=PROMPT)
    decode_torch.prefill(model, some_tokens(1, PROMPT), cache)
    with pytest.raises(ValueError, match="6 positions, its max_len is 5"):
        decode_torch.decode_step(model, torch.tensor([1]), cache)
    with pytest.raises(ValueError, match="7 positions"):
        decode_torch.prefill(model, some_tokens(1, 2), cache)


def test_fused_weights_and_plain_ones_are_the_same_memory():
    model, _ = llama()
    model.params["layers.1.w_k"].fill_(3.0)
    assert (model.fused["layers.1.w_qkv"] == 3.0).sum() == model.params["layers.1.w_k"].numel()


# What a step allocates, asks and makes


def watched_steps(step, dtype="float32", batch=1, n=2) -> list[torch_watch.Watch]:
    """Two decode steps behind one that may set things up, on a cache of 200 positions."""
    model, _ = llama(dtype=dtype)
    cache = new_cache(model, batch, max_len=200)
    decode_torch.prefill(model, some_tokens(batch, 190), cache)
    token = torch.ones(batch, dtype=torch.int64)
    step(model, token, cache)
    watches = []
    for _ in range(n):
        with torch_watch.Watch() as watch:
            step(model, token, cache)
        watches.append(watch)
    return watches


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_on_a_cpu_allocates_nothing(dtype, batch):
    for watch in watched_steps(decode_torch.decode_step, dtype, batch):
        assert len(watch.names) > 50
        assert watch.allocated == []


def test_a_bfloat16_step_allocates_the_heads_alone():
    for watch in watched_steps(decode_torch.decode_step, "bfloat16"):
        heads = LLAMA.n_heads * LLAMA.head_dim
        assert max(watch.allocated, default=0) <= heads
        assert len(watch.allocated) <= 2 * LLAMA.n_layers


def test_the_device_step_copies_no_keys():
    keys = 200 * LLAMA.n_kv_heads * LLAMA.head_dim
    # In bfloat16 a cache on a CPU lies in memory as on a device.
    for watch in watched_steps(decode_torch.device_step, "bfloat16"):
        assert max(watch.allocated) < keys


def test_the_device_step_has_static_shapes_and_asks_nothing():
    first, second = watched_steps(decode_torch.device_step)
    assert first.names == second.names
    assert first.shapes == second.shapes
    assert not any("_local_scalar_dense" in name or "nonzero" in name for name in first.names)


def test_the_watch_sees_a_repeated_cache_and_a_question():
    """Breaks what the tests above look for."""

    def careless(model, token, cache):
        keys = cache.keys[0].repeat_interleave(LLAMA.n_heads // LLAMA.n_kv_heads, dim=1)
        return keys[:, :, : int(cache.length)]

    (watch,) = watched_steps(careless, n=1)
    assert max(watch.allocated) >= 200 * LLAMA.n_heads * LLAMA.head_dim
    assert any("_local_scalar_dense" in name for name in watch.names)


# The CUDA path, on a fake


class FakeGraph:
    """Carries out what was recorded, on the same tensors, as a CUDA graph does."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.recorded = log, []

    def replay(self) -> None:
        self.log.append("replay")
        for function, args, kwargs, results, is_new in self.recorded:
            again = torch_watch.tensors(function(*args, **kwargs))
            for old, new, fresh in zip(results, again, is_new, strict=True):
                if fresh:
                    old.copy_(new)


class FakeCuda:
    """torch.cuda's names that `capture` uses, and those that it must not."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def Stream(self):  # noqa: N802  (torch's name)
        return self._stream("side")

    def current_stream(self):
        return self._stream("current")

    def _stream(self, name):
        log = self.log

        class Stream:
            def wait_stream(self, other):
                log.append(f"{name} waits")

            def synchronize(self):
                log.append("synchronize")

        return Stream()

    @contextlib.contextmanager
    def stream(self, stream):
        self.log.append("side begins")
        yield
        self.log.append("side ends")

    def CUDAGraph(self):  # noqa: N802
        return FakeGraph(self.log)

    @contextlib.contextmanager
    def graph(self, graph):
        self.log.append("capture")
        with torch_watch.Recording(graph):
            yield

    def synchronize(self):
        self.log.append("synchronize")


@pytest.fixture
def on_fake_cuda(monkeypatch):
    """Makes decode_step take the path of a GPU."""
    fake = FakeCuda()
    monkeypatch.setattr("solution.decode_torch.capture", partial(decode_torch.capture, cuda=fake))
    monkeypatch.setattr("solution.decode_torch.HostStep", decode_torch.GraphStep)
    return fake


def test_a_captured_step_gives_the_references_logits(on_fake_cuda):
    model, params = llama()
    tokens, cache = some_tokens(2), new_cache(model, 2)
    got = decode(model, tokens, cache)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, PROMPT - 1 :]
    assert np.abs(got - expected).max() <= 1e-10
    assert int(cache.length) == cache.n_held == PROMPT + STEPS


def test_one_capture_and_then_replays_alone(on_fake_cuda):
    model, params = llama()
    tokens = some_tokens(2, PROMPT)
    got = decode_torch.generate(model, tokens, 6)
    np.testing.assert_array_equal(
        got.numpy(), np.asarray(reference.greedy_continuation(LLAMA, params, tokens.numpy(), 6))
    )
    set_up = ["side waits", "side begins", "side ends", "current waits", "capture"]
    assert on_fake_cuda.log == set_up + ["replay"] * 5


def test_capture_at_the_last_position_stays_inside_the_cache(on_fake_cuda):
    """Warm-ups run the step several times; each must run at the same position."""
    model, params = llama()
    tokens = some_tokens(1, PROMPT + 1)
    cache = new_cache(model, 1, max_len=PROMPT + 1)
    decode_torch.prefill(model, tokens[:, :PROMPT], cache)
    got = decode_torch.decode_step(model, tokens[:, PROMPT], cache)
    expected = reference.llama_logits(LLAMA, params, tokens.numpy())[:, -1]
    assert np.abs(got.numpy() - expected).max() <= 1e-10


def test_the_fake_sees_a_frozen_position():
    """A Python number in a captured step is the bug that cache.length as a tensor prevents."""
    fake, out, length = FakeCuda(), torch.zeros(3), torch.zeros((), dtype=torch.int64)
    n = [0]

    def frozen():
        out[n[0]] = 1.0
        n[0] += 1

    def right():
        out.index_fill_(0, length.view(1), 1.0)
        length.add_(1)

    for work, reset, expected in (
        (frozen, lambda: n.__setitem__(0, 0), [1.0, 0.0, 0.0]),
        (right, lambda: length.zero_(), [1.0, 1.0, 0.0]),
    ):
        replay = decode_torch.capture(work, reset, cuda=fake, warm_ups=1)
        out.zero_()
        replay()
        replay()
        assert out.tolist() == expected


# The homework around it


def run_part10(*arguments: str, without_torch: bool = False) -> subprocess.CompletedProcess:
    hidden = "sys.modules['torch'] = None; " if without_torch else ""
    program = f"import sys; {hidden}import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "-p", "no:cacheprovider", "assignment/", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_solution_gets_all_points_of_part_10():
    result = run_part10("-k", "part10", "--impl", "solution")
    assert result.returncode == 0, result.stdout
    assert "Part 10 (extra): 12 / 12 points" in result.stdout


def test_the_stubs_of_part_10_get_none():
    result = run_part10("-k", "part10")
    assert result.returncode == 1
    assert "Part 10 (extra): 0 / 12 points" in result.stdout
    assert "10.2 grouped_attention is not implemented yet" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr


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
