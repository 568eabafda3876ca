"""Timing tests: run only when they are asked for, with `-m timing` or, on a GPU, `-m gpu`.

They look at how a step's time grows, never at a time: see growth.py.
"""

from __future__ import annotations

import importlib
import re
import sys
import time

import numpy as np
import pytest

from .compare import Mismatch
from .growth import Growth, measure_growth
from .models import new_cache, weight_shapes
from .student import Student, not_started
from .words import tr

MARKS = {
    "timing": "looks at how times grow; run by -m timing",
    "gpu": "needs a CUDA device; run by -m gpu",
}
CPU_CONTEXTS = (32, 512)
GPU_CONTEXTS = (128, 8192)
# Processor time, where it is counted finely: waiting for a core while others compute is not in it.
CPU_CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time


def asked_for(config: pytest.Config) -> bool:
    """Whether the command line's -m names timing tests."""
    words = re.findall(r"\w+", config.getoption("markexpr", default="") or "")
    return any(mark in words for mark in MARKS)


def leave_out_timing_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what only -m asks for."""
    if asked_for(config):
        return
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in MARKS)]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def model_of_size(
    d_model: int, n_layers: int, n_heads: int, n_kv_heads: int, d_ff: int, vocab_size: int
) -> tuple[dict, dict]:
    """Config and random float32 weights, large enough that the work of a step takes its time."""
    rng = np.random.default_rng(0)
    config = {
        "name": "timing",
        "n_layers": n_layers,
        "d_model": d_model,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "head_dim": d_model // n_heads,
        "d_ff": d_ff,
        "vocab_size": vocab_size,
    }
    params = {
        name: rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[0]))
        if len(shape) == 2
        else np.ones(shape, np.float32)
        for name, shape in weight_shapes(config).items()
    }
    return config, params


def numpy_growth(student: Student, contexts: tuple[int, int] = CPU_CONTEXTS) -> Growth:
    """Of kv_cache.py's decode_step against its own prefill of the whole context."""
    # As many key/value heads as query heads, so that part 5 need not be done.
    config, params = model_of_size(128, 2, 4, 4, 344, 251)
    model = student.load_model(config, params)

    def prefilled(context: int):
        cache = new_cache(student, config, 1, context + 8, np.float32)
        tokens = np.random.default_rng(context).integers(0, config["vocab_size"], (1, context))
        student.prefill(model, tokens, cache)
        return lambda: student.decode_step(model, tokens[:, 0], cache)

    return measure_growth(contexts, prefilled, clock=CPU_CLOCK)


def torch_growth(package: str, device: str) -> Growth:
    """Of decode_torch.py's decode_step against its own prefill, on "cpu" or "cuda"."""
    torch = pytest.importorskip("torch", reason="torch is not installed: part 10 needs it")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device here")
    contexts = CPU_CONTEXTS if device == "cpu" else GPU_CONTEXTS
    size = (128, 2, 8, 2, 344, 251) if device == "cpu" else (2048, 8, 32, 8, 5632, 4099)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    try:
        loop = importlib.import_module(f"{package}.decode_torch")
        given = importlib.import_module(f"{package}.torch_model")
        transformer = importlib.import_module(f"{package}.transformer")
    except ImportError as error:
        pytest.skip(f"part 10 cannot be imported: {error}")
    config, params = model_of_size(*size)
    config = transformer.ModelConfig(**config)
    place = torch.device(device)
    model = given.TorchTransformer(config, params, place, dtype)
    finish = torch.cuda.synchronize if device == "cuda" else lambda: None

    def prefilled(context: int):
        cache = loop.StaticCache(config, 1, context + 8, place, dtype)
        tokens = torch.zeros(1, context, dtype=torch.int64, device=place)
        loop.prefill(model, tokens, cache)
        finish()

        def step() -> None:
            loop.decode_step(model, tokens[:, 0], cache)
            finish()

        return step

    with torch.no_grad():
        try:
            clock = CPU_CLOCK if device == "cpu" else time.perf_counter
            return measure_growth(contexts, prefilled, clock=clock)
        except NotImplementedError as error:
            raise not_started(error, fallback="decode_step") from None


def check_growth(growth: Growth) -> None:
    """Fail where a step's time grows like a recompute's; skip where that cannot be seen."""
    if not growth.tells:
        pytest.skip(tr("cannot be told on this device: {found}", found=growth.described()))
    if growth.recomputes:
        words = tr(
            "{found}: the step grows like a recompute, so the cache is not used (L2 §5.2)",
            found=growth.described(),
        )
        raise Mismatch(words)
