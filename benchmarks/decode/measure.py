"""Times loops side by side: all of them in every round, so that drift and neighbours hit all."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from reference_model.config import ModelConfig, param_shapes

from .bound import Bound
from .loops import Loop

PROMPT_SEED = 1
# The threads of one library go on spinning after its last product, on the cores that the next loop
# needs: for 100 to 150 ms behind numpy a torch step takes twice its time. And behind a pause the
# first steps wake threads and clock.
PAUSE_S = 0.2
UNTIMED_STEPS = 3


def interleaved(
    loops: Mapping[str, Loop], bounds: Mapping[str, Bound], prompt: torch.Tensor, options
) -> dict[str, dict[str, Any]]:
    """What `summary` says of each loop behind this prompt, and of the fastest way of each bound.

    Args:
        options: with `rounds`, `steps` (of a loop in a round) and `seconds`, compiling included,
            after which no round begins (two are always made).
    """
    deadline = time.monotonic() + options.seconds
    for loop in loops.values():
        loop.begin(prompt)
        loop.run(2)  # buffers, graphs, thread pools
    ways = {
        (name, way): passes for name, bound in bounds.items() for way, passes in bound.ways.items()
    }
    turns: dict[str | tuple[str, str], list[list[float]]] = {name: [] for name in (*loops, *ways)}
    gc.disable()
    try:
        for round_number in range(options.rounds):
            if round_number >= 2 and time.monotonic() > deadline:
                break
            for name, work in (loops | ways).items():
                slow = name == "recompute"
                if slow and round_number >= 2:
                    continue
                time.sleep(PAUSE_S)
                untimed, timed = (0, 1) if slow else (UNTIMED_STEPS, options.steps)
                turns[name].append(work.run(untimed + timed)[untimed:])
    finally:
        gc.enable()
    row = {name: summary(turns[name]) for name in loops}
    for name, bound in bounds.items():
        passes = {way: summary(turns[name, way]) for way in bound.ways}
        fastest = min(passes, key=lambda way: passes[way]["ms"])
        row[name] = passes[fastest] | {"way": fastest, "ways": passes}
    return row


def summary(turns: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Milliseconds from the seconds of each turn: the median, each turn's median, and the least.

    Medians are what counts. A bound and a loop share a machine whose memory is now fast, now slow,
    and their least times do not meet the same moment: the shorter of the two fits more often
    between two disturbances.
    """
    seconds = [x for turn in turns for x in turn]
    return {
        "ms": statistics.median(seconds) * 1e3,
        "turns_ms": [statistics.median(turn) * 1e3 for turn in turns],
        "least_ms": min(seconds) * 1e3,
        "timed": len(seconds),
    }


def ratio(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """How many times longer a takes than b: the median over the rounds, so that both drift alike.

    Args:
        a, b: of `summary`, or with "ms" alone.
    """
    if "turns_ms" not in a or "turns_ms" not in b:
        return a["ms"] / b["ms"]
    pairs = zip(a["turns_ms"], b["turns_ms"], strict=False)
    return statistics.median(x / y for x, y in pairs)


def same_tokens(loops: Mapping[str, Loop], reference: str, n: int = 4) -> dict[str, bool]:
    """Whether each loop made the reference loop's first tokens: what was timed is decoding."""
    expected = [int(t) for t in loops[reference].tokens[:n]]
    return {
        name: [int(t) for t in loop.tokens[: len(expected)]] == expected[: len(loop.tokens)]
        for name, loop in loops.items()
    }


def random_prompt(vocab_size: int, length: int, device: str = "cpu") -> torch.Tensor:
    """int64 (1, length)."""
    generator = torch.Generator().manual_seed(PROMPT_SEED)
    return torch.randint(vocab_size, (1, length), generator=generator).to(device)


# --- the models that are timed ----------------------------------------

# 26.35 M parameters besides the embedding table: 105 MB in float32, beyond a core's caches.
CPU_MODEL = ModelConfig("26 M", 8, 512, 8, 2, 64, 1376, 8192)
# The shape of Llama-3.2-1B: 1.24 B parameters, tied as there.
GPU_MODEL = ModelConfig("1 B", 16, 2048, 32, 8, 64, 8192, 128256, 500000.0, tied=True)
# L2 §5.4: "a slightly larger model".
LECTURE_MODEL = ModelConfig("L2 5.4", 4, 256, 8, 2, 32, 688, 1024)


def random_params(config: ModelConfig, seed: int = 0, device: str = "cpu") -> dict[str, Tensor]:
    """float32 weights N(0, 1/fan_in) and norm weights in [0.5, 1.5], drawn on `device`."""
    generator = torch.Generator(device).manual_seed(seed)
    params = {}
    for name, shape in param_shapes(config).items():
        w = torch.empty(shape, device=device)
        if name.endswith("norm"):
            w.uniform_(0.5, 1.5, generator=generator)
        elif name == "embedding":
            # Tied, it is the output matrix too, and logits should be of unit size.
            width = shape[1] if config.tied else 1
            w.normal_(0, width**-0.5, generator=generator)
        else:
            w.normal_(0, shape[0] ** -0.5, generator=generator)
        params[name] = w
    return params
