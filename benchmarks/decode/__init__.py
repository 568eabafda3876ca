"""How fast the decode loops are, side by side in one run: `python -m benchmarks.decode`.

The clock of all loops is here: the wall's, or this process's CPU time where others keep it busy.
"""

from __future__ import annotations

import os
import time

_clock = time.perf_counter


def now() -> float:
    """Seconds since some moment."""
    return _clock()


def count_cpu_time() -> None:
    """From now on count what this process's one thread computes, not how long it waits for a core.

    Raises:
        SystemExit: more than one thread would be counted, spinning ones too.
    """
    global _clock
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise SystemExit("--cpu-time counts all threads: run it with OMP_NUM_THREADS=1")
    _clock = time.process_time
