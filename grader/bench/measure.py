"""Two measures of a decode loop, by this process's clock.

*Steps*: tokens drawn here are revealed one at a time, the next only when the logits after the last
have come through the pipe. The windows follow each other without a gap, so nothing can be worked
out between them. *Generation*: one whole `generate`, prefill inside the window.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

Clock = Callable[[], float]


@dataclass(frozen=True)
class Steps:
    """Seconds of one revealed sequence, and its outputs.

    Attributes:
        prefill: from the sending of the prompt to its logits.
        first: the first step, in which a loop may set something up.
        per_step: mean of the others.
        outputs: what came, step 0 being the prefill's.
    """

    prefill: float
    first: float
    per_step: float
    outputs: list[Any]


@dataclass(frozen=True)
class Generation:
    """Seconds of one whole generation, and what it gave."""

    seconds: float
    output: Any


def time_steps(
    loop: Any, prompt: np.ndarray, tokens: np.ndarray, clock: Clock = time.perf_counter
) -> Steps:
    """Reveal tokens (B, n) behind a prompt (B, T), n >= 2."""
    n_steps = tokens.shape[1]
    revealed = [np.ascontiguousarray(tokens[:, step]) for step in range(n_steps)]
    loop.begin(len(prompt), prompt.shape[1] + n_steps)
    with _no_collection():
        marks = [clock()]
        outputs = [loop.prefill(prompt)]
        marks.append(clock())
        for token in revealed:
            outputs.append(loop.step(token))
            marks.append(clock())
    per_step = (marks[-1] - marks[2]) / (n_steps - 1)
    return Steps(marks[1] - marks[0], marks[2] - marks[1], per_step, outputs)


def time_generation(
    loop: Any, prompt: np.ndarray, max_new_tokens: int, clock: Clock = time.perf_counter
) -> Generation:
    """One call of generate."""
    with _no_collection():
        start = clock()
        output = loop.generate(prompt, max_new_tokens)
        return Generation(clock() - start, output)


def time_products(loop: Any, context: int, repeats: int, clock: Clock = time.perf_counter) -> float:
    """Seconds that plain matrix-vector products take over the bytes a step must read.

    The best of three: what the machine reached, it can reach.
    """
    loop.products(context, 1)
    best = float("inf")
    for _ in range(3):
        start = clock()
        loop.products(context, repeats)
        best = min(best, (clock() - start) / repeats)
    return best


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection of ours in a timed window."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
