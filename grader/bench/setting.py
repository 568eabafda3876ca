"""What is timed: the model, the contexts, how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reference_model import ModelConfig

Impl = Literal["numpy", "torch"]
Device = Literal["cpu", "cuda"]


@dataclass(frozen=True)
class Setting:
    """One experiment.

    Attributes:
        contexts: prompt lengths, ascending; behind each, `steps` tokens are revealed one at a time.
        prompt, new_tokens: of the measure that times one whole `generate`.
        repetitions: each with weights and inputs of its own.
    """

    impl: Impl
    device: Device
    dtype: str
    config: ModelConfig
    contexts: tuple[int, ...]
    steps: int
    prompt: int
    new_tokens: int
    repetitions: int
    threads: int = 1

    def __post_init__(self) -> None:
        if self.steps < 2 or len(self.contexts) < 2 or list(self.contexts) != sorted(self.contexts):
            raise ValueError("a setting needs two steps and two contexts, ascending")


# 0.4 M parameters: for a look at whether everything works, no figures come of it.
TINY = ModelConfig("tiny", 3, 96, 8, 2, 16, 160, 263)
# 26 M parameters: a step reads 100 MB, more than caches hold.
SMALL = ModelConfig("26 M", 8, 512, 8, 2, 64, 1408, 4099)
# 1.1 B parameters: with less, starting the kernels takes longer than reading the weights.
BILLION = ModelConfig("1.1 B", 16, 2048, 32, 8, 64, 8192, 32771)


def setting_for(impl: Impl, device: Device, quick: bool, threads: int) -> Setting:
    """The experiment of a command line."""
    if quick:
        return Setting(impl, device, "float32", TINY, (32, 128), 8, 24, 12, 3, threads)
    if device == "cuda":
        return Setting(impl, device, "bfloat16", BILLION, (64, 1024, 4096), 32, 64, 128, 3, threads)
    return Setting(impl, device, "float32", SMALL, (64, 256, 1024, 2048), 12, 64, 48, 5, threads)
