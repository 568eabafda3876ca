"""Times loops side by side: all of them in every round, so that drift and neighbours hit all."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping

import torch

from .bound import Bound
from .loops import Loop

PROMPT_SEED = 1


def interleaved(
    loops: Mapping[str, Loop], bounds: Mapping[str, Bound], prompt: torch.Tensor, options
) -> dict[str, dict]:
    """Milliseconds a token of each loop behind this prompt: least, median, how many were timed.

    The least is what counts: on a shared machine other programs can only slow a step down.

    Args:
        options: with `rounds`, `steps` (of a loop in a round) and `seconds`, after which no round
            begins (two are always made).
    """
    for loop in loops.values():
        loop.begin(prompt)
        loop.run(2)  # buffers, graphs, thread pools
    taken: dict[str, list[float]] = {name: [] for name in (*loops, *bounds)}
    deadline = time.monotonic() + options.seconds
    gc.disable()
    try:
        for round_number in range(options.rounds):
            if round_number >= 2 and time.monotonic() > deadline:
                break
            for name, work in (loops | bounds).items():
                slow = name == "recompute"
                if slow and round_number >= 2:
                    continue
                taken[name] += work.run(1 if slow else options.steps)
    finally:
        gc.enable()
    return {
        name: {
            "ms": min(seconds) * 1e3,
            "median_ms": statistics.median(seconds) * 1e3,
            "timed": len(seconds),
        }
        for name, seconds in taken.items()
    }


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
