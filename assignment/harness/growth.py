"""How the time of a token grows with the context: like a recompute's, or hardly.

Times of one machine mean nothing on another, and a busy machine adds to any of them. So the growth
of a decode step is set against the growth of a recompute that was timed in between, and of several
times the smallest counts: other programs can only slow one down.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .words import tr

# Between a loop with a cache and a recompute, whose share is 1. Reading the cache is 0.1 to 0.3; an
# attention that walks over the keys one by one in Python can come to 0.5, and is no recompute.
LARGEST_SHARE = 0.6
# A recompute that grows by less than this is hidden behind something else, and tells nothing.
SMALLEST_RECOMPUTE_RATIO = 3.0


@dataclass(frozen=True)
class Growth:
    """Seconds per token at the shortest and the longest context, with a cache and without.

    Attributes:
        contexts: the two context lengths.
        step: of a decode step at each.
        recompute: of running the whole context again at each.
    """

    contexts: tuple[int, int]
    step: tuple[float, float]
    recompute: tuple[float, float]

    @property
    def step_ratio(self) -> float:
        """How many times longer a step takes at the longest context."""
        return self.step[1] / self.step[0]

    @property
    def recompute_ratio(self) -> float:
        """How many times longer a recompute takes there."""
        return self.recompute[1] / self.recompute[0]

    @property
    def tells(self) -> bool:
        """Whether the recompute grew at all; on a fast device a small model's hardly does."""
        return self.recompute_ratio >= SMALLEST_RECOMPUTE_RATIO

    @property
    def share(self) -> float:
        """log(step_ratio) / log(recompute_ratio): 0 does not grow, 1 grows like a recompute."""
        if not self.tells:
            return 0.0
        return math.log(self.step_ratio) / math.log(self.recompute_ratio)

    @property
    def recomputes(self) -> bool:
        """Whether the step grows more like a recompute than like a loop with a cache."""
        return self.share > LARGEST_SHARE

    def described(self) -> str:
        """The finding in a sentence."""
        short, long = self.contexts
        return tr(
            "from context {short} to {long} a decode step takes {step:.1f} times as long, a "
            "recompute {all:.1f} times",
            short=short,
            long=long,
            step=self.step_ratio,
            all=self.recompute_ratio,
        )


def growth_of(
    contexts: Sequence[int], step: Mapping[int, float], recompute: Mapping[int, float]
) -> Growth:
    """The growth between the shortest and the longest of some contexts."""
    ends = (min(contexts), max(contexts))
    return Growth(ends, *((t[ends[0]], t[ends[1]]) for t in (step, recompute)))


def measure_growth(
    contexts: tuple[int, int],
    prefilled: Callable[[int], Callable[[], object]],
    rounds: int = 5,
    steps: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> Growth:
    """Time steps and recomputes at both contexts, by turns.

    Args:
        prefilled: runs a whole context of that length into a new cache, which is what a recompute
            does for each token, and returns a function that runs one step behind it.
        rounds: how often all is timed.
        steps: decode steps a round.
    """
    step: dict[int, float] = dict.fromkeys(contexts, math.inf)
    recompute: dict[int, float] = dict.fromkeys(contexts, math.inf)
    for _ in range(rounds):
        for context in contexts:
            # The short one is cheap, and the one that an interruption spoils most.
            for _ in range(steps if context == min(contexts) else 1):
                run_step, seconds = _timed(partial(prefilled, context), clock)
                recompute[context] = min(recompute[context], seconds)
            for _ in range(steps):
                step[context] = min(step[context], _timed(run_step, clock)[1])
    return growth_of(contexts, step, recompute)


def _timed(run: Callable[[], Any], clock: Callable[[], float]) -> tuple[Any, float]:
    start = clock()
    result = run()
    return result, clock() - start
