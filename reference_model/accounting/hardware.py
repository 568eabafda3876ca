"""What a machine can do at best, and the models of the course documents that it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from reference_model.config import MLAConfig, ModelConfig


@dataclass(frozen=True)
class Hardware:
    """Peak figures of one device.

    Attributes:
        flops: FLOP/s, dense, in the precision that `name` says.
        bandwidth: bytes/s from its main memory.
    """

    name: str
    flops: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """FLOPs per byte from which on the arithmetic is the bottleneck (L2 §4.5)."""
        return self.flops / self.bandwidth


# Makers' data sheets: SXM modules, BF16 without sparsity.
A100 = Hardware("A100 80 GB, BF16", 312e12, 2.039e12)
H100 = Hardware("H100, BF16", 989e12, 3.35e12)
H200 = Hardware("H200, BF16", 989e12, 4.8e12)

# L2 §4.2: the one that is small enough to be counted while it runs.
SMALL = ModelConfig("small", 4, 128, 8, 2, 16, 344, 512)

LLAMA2_7B = ModelConfig("Llama-2-7B", 32, 4096, 32, 32, 128, 11008, 32000)
LLAMA31_8B = ModelConfig("Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, 128256, 500000.0)
LLAMA31_70B = ModelConfig("Llama-3.1-70B", 80, 8192, 64, 8, 128, 28672, 128256, 500000.0)
LLAMA31_405B = ModelConfig("Llama-3.1-405B", 126, 16384, 128, 8, 128, 53248, 128256, 500000.0)

# Only the sizes of its attention are used: its MLPs are mixtures of experts, which this form of
# config cannot say.
DEEPSEEK_V3_ATTENTION = MLAConfig(
    "DeepSeek-V3 attention", 61, 7168, 128, 512, 128, 64, 128, 1536, 18432, 129280
)


def measure_this_cpu(megabytes: int = 128, size: int = 1024, repeats: int = 5) -> Hardware:
    """This machine's figures as numpy reaches them in float32: a large product, and a long sum.

    The best of `repeats`, since other programs can only slow a measurement down.
    """
    a = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    memory = np.ones(megabytes * 2**20 // 4, dtype=np.float32)
    flops = 2 * size**3 / _best(lambda: a @ a, repeats)
    bandwidth = memory.nbytes / _best(memory.sum, repeats)
    return Hardware("this CPU, float32", flops, bandwidth)


def _best(work, repeats: int) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return min(once() for _ in range(repeats))
