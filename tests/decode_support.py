"""What the tests of both decode loops share: small models, a watch on operations, a fake CUDA."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

import reference_model as reference  # noqa: E402
from solution import decode_torch, torch_model  # noqa: E402

LLAMA = reference.ModelConfig("llama", 3, 36, 6, 2, 8, 52, 37, rope_theta=300.0)
LLAMAS = {
    "GQA": LLAMA,
    "MQA": dataclasses.replace(LLAMA, n_kv_heads=1),
    "tied": dataclasses.replace(LLAMA, tied=True),
    "MHA": dataclasses.replace(LLAMA, n_kv_heads=6),
}
PROMPT, STEPS = 5, 7


def llama(config=LLAMA, dtype=torch.float64):
    params = reference.init_llama(config, seed=0)
    return torch_model.TorchTransformer(config.to_dict(), params, dtype=dtype), params


def some_tokens(batch: int, length: int = PROMPT + STEPS) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).integers(0, 37, (batch, length)))


def decode(model, tokens, cache, prefill, step):
    """Logits (B, steps + 1, V) after the prompt and after each further token, teacher-forced."""
    got = [prefill(model, tokens[:, :PROMPT], cache).clone()]
    for token in tokens[:, PROMPT:].T:
        if not step.__name__.endswith("decode_step"):
            decode_torch.take_positions(cache, 1)  # which decode_step does itself
        got.append(step(model, token, cache).clone())
    return torch.stack(got, dim=1).double().numpy()


def empty_cache(kind: type, model, batch: int, max_len: int = PROMPT + STEPS):
    return kind(model.config, batch, max_len, "cpu", model.dtype)


def watched_steps(step, prefill, kind, dtype=torch.float32, batch=1, n=2) -> list[Watch]:
    """Two decode steps behind one that may set things up, on a cache of 200 positions."""
    model, _ = llama(dtype=dtype)
    cache = empty_cache(kind, model, batch, max_len=200)
    prefill(model, some_tokens(batch, 190), cache)
    token = torch.ones(batch, dtype=torch.int64)
    step(model, token, cache)
    watches = []
    for _ in range(n):
        with Watch() as watch:
            step(model, token, cache)
        watches.append(watch)
    return watches


class Watch(TorchDispatchMode):
    """Notes every operation: its name, the shapes of its results, and what it allocates."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.shapes: list[tuple] = []
        self.allocated: list[int] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        before = {x.untyped_storage().data_ptr() for x in _tensors((args, kwargs))}
        self.names.append(str(function))
        self.shapes.append(tuple(tuple(x.shape) for x in _tensors(result)))
        self.allocated += [
            x.numel() for x in _tensors(result) if x.untyped_storage().data_ptr() not in before
        ]
        return result


def _tensors(tree) -> list[torch.Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


class FakeGraph:
    """Carries out what was recorded, on the same tensors, as a CUDA graph does."""

    def __init__(self, log: list[str]) -> None:
        self.log, self.recorded = log, []

    def replay(self) -> None:
        self.log.append("replay")
        for function, args, kwargs, results, is_new in self.recorded:
            again = _tensors(function(*args, **kwargs))
            for old, new, fresh in zip(results, again, is_new, strict=True):
                if fresh:
                    old.copy_(new)


class Recording(TorchDispatchMode):
    def __init__(self, graph: FakeGraph) -> None:
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert "_local_scalar_dense" not in str(function), "the host waited inside a capture"
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        before = {x.untyped_storage().data_ptr() for x in _tensors((args, kwargs))}
        results = _tensors(result)
        is_new = [x.untyped_storage().data_ptr() not in before for x in results]
        self.graph.recorded.append((function, args, kwargs, results, is_new))
        return result


class FakeCuda:
    """torch.cuda's names that a captured step uses, and those that it must not."""

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
        with Recording(graph):
            yield

    def synchronize(self):
        self.log.append("synchronize")


class Gpu(str):
    """A device's name that says it is a GPU and is none."""

    type = "cuda"


@pytest.fixture
def on_fake_cuda(monkeypatch):
    """Makes decode_step take the path of a GPU."""
    fake = FakeCuda()
    monkeypatch.setattr(decode_torch, "cuda", fake)
    monkeypatch.setattr(torch_model.TorchDecoder, "device", Gpu("cpu"))
    return fake
