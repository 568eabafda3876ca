"""How much memory a call in this process takes: numpy's allocations, counted by tracemalloc."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MIB = 1 << 20


@dataclass(frozen=True)
class Needed:
    """What a call needed beside its arguments.

    Attributes:
        result: what it returned; None where it had no room to end.
        mib: its peak in MiB, or the room that was not enough, with `at_least`.
        is_known: whether anything could be measured.
    """

    result: Any
    mib: float
    at_least: bool = False
    is_known: bool = True


def traced(call: Callable[[], Any]) -> Needed:
    """Measure a call in this process."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        return Needed(result, (tracemalloc.get_traced_memory()[1] - before) / MIB)
    finally:
        if not was_tracing:
            tracemalloc.stop()
