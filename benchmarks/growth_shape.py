"""How often the growth-shape test is right on a machine that is busy with something else.

Each run asks two loops the question of `pytest assignment/ -m timing`: the solution's, which uses
its cache, and one that recomputes. Beside them other processes keep cores busy for the whole time,
with arithmetic and with memory traffic.

    python benchmarks/growth_shape.py [--runs 50] [--busy 1]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from assignment.harness.growth import LARGEST_SHARE, Growth  # noqa: E402
from assignment.harness.timing import numpy_growth  # noqa: E402
from solution import kv_cache, transformer  # noqa: E402

BUSY = """
import numpy as np
a, b = np.ones((300, 300)), np.ones(8 << 20)
while True:
    a @ a
    b += 1
"""


class Recomputing(kv_cache.KVCache):
    """Keeps the tokens and runs all of them again for each step."""

    tokens: np.ndarray


def recomputing_prefill(model, tokens, cache):
    """prefill, and the tokens are kept."""
    cache.tokens = tokens
    cache.truncate(0)
    return kv_cache.prefill(model, tokens, cache)


def recomputing_step(model, token, cache):
    """decode_step as a prefill of everything."""
    return recomputing_prefill(model, np.concatenate([cache.tokens, token[:, None]], axis=1), cache)


LOOPS = {
    "cached": SimpleNamespace(
        load_model=transformer.load_model,
        KVCache=kv_cache.KVCache,
        prefill=kv_cache.prefill,
        decode_step=kv_cache.decode_step,
    ),
    "recomputing": SimpleNamespace(
        load_model=transformer.load_model,
        KVCache=Recomputing,
        prefill=recomputing_prefill,
        decode_step=recomputing_step,
    ),
}


@contextlib.contextmanager
def busy(n_processes: int) -> Iterator[None]:
    """Other programs that want processor time and memory bandwidth."""
    running = [
        subprocess.Popen([sys.executable, "-c", BUSY], env={**os.environ, "OMP_NUM_THREADS": "1"})
        for _ in range(n_processes)
    ]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--busy", type=int, default=1, help="processes beside it")
    options = parser.parse_args()
    growths: dict[str, list[Growth]] = {name: [] for name in LOOPS}
    loads = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stopped early, it still reports
    with busy(options.busy), contextlib.suppress(KeyboardInterrupt):
        for _ in range(options.runs):
            loads.append(os.getloadavg()[0])
            for name, loop in LOOPS.items():
                growths[name].append(numpy_growth(loop))
    cores = len(os.sched_getaffinity(0))
    print(
        f"{len(loads)} runs on {cores} cores beside {options.busy} busy processes, load average "
        f"{min(loads):.1f} to {max(loads):.1f}; a share above {LARGEST_SHARE} is a recompute"
    )
    for name, found in growths.items():
        shares = [growth.share for growth in found]
        untold = sum(not growth.tells for growth in found)
        right = sum(g.tells and g.recomputes == (name == "recomputing") for g in found)
        print(
            f"  {name:12} right {right} of {len(found)}, cannot tell {untold}; share "
            f"{min(shares):.2f} .. {np.median(shares):.2f} .. {max(shares):.2f}"
        )


if __name__ == "__main__":
    main()
