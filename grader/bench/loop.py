"""A decode loop in a worker: a submission's, or our own, with the same means and the same view."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from grader.bench.setting import Setting
from grader.bench.standstill import go_on, turn
from grader.sandbox import Limits, Sandbox
from grader.sandbox.remote import RemoteStudent

ADAPTER = "_bench_adapter"
WEIGHTS = "weights"
CALLS = ("setup", "open", "begin", "prefill", "step", "generate", "products")
GIB = 1024


class BenchLimits(Limits):
    """Room for torch and, on a GPU, for the address space and the files its driver wants."""

    def rlimits(self) -> dict[str, int]:
        return super().rlimits() | {"NOFILE": 1024}


def limits_for(setting: Setting, call_seconds: float) -> BenchLimits:
    """Wide enough that none is met by honest code; a hang still ends."""
    memory = {"cpu": (4 if setting.impl == "numpy" else 16) * GIB, "cuda": 1 << 24}
    return BenchLimits(
        call_seconds=call_seconds * setting.threads,
        idle_seconds=call_seconds,
        start_seconds=60.0,
        total_seconds=3600.0 * setting.threads,
        cpu_seconds=7200,
        memory_mib=memory[setting.device],
        processes=8 + setting.threads if setting.impl == "numpy" else 256,
        frame_mib=64,
    )


class Loop:
    """Calls of the adapter in one worker; its outputs are as they came, unchecked."""

    def __init__(
        self,
        name: str,
        sandbox: Sandbox,
        folder: Path,
        packages: str,
        weights: Path,
        setting: Setting,
        slot: int,
        call_seconds: float = 300.0,
    ) -> None:
        self.name = name
        self.config = setting.config.to_dict()
        self._setting, self._packages = setting, packages
        self._remote = RemoteStudent(
            sandbox,
            folder,
            limits_for(setting, call_seconds),
            slot,
            mapped={WEIGHTS: weights},
            modules={f"bench_{call}": ADAPTER for call in CALLS},
        )

    def setup(self) -> None:
        """Start the worker and import the functions; raises what importing them raises."""
        s = self._setting
        if self._remote.pid is not None:
            go_on(self._remote.pid)  # it may stand since an experiment before
        self._remote.bench_setup(s.impl, s.device, s.dtype, self._packages, s.threads)

    def open(self, seed: int) -> None:
        self._remote.bench_open(self.config, self._remote.mapped_params(WEIGHTS), seed)

    def begin(self, batch: int, max_len: int) -> None:
        self._remote.bench_begin(batch, max_len)

    def prefill(self, tokens: np.ndarray) -> object:
        return self._remote.bench_prefill(tokens)

    def step(self, token: np.ndarray) -> object:
        return self._remote.bench_step(token)

    def generate(self, prompt: np.ndarray, max_new_tokens: int) -> object:
        return self._remote.bench_generate(prompt, max_new_tokens)

    def products(self, context: int, repeats: int) -> None:
        self._remote.bench_products(context, repeats)

    @property
    def pid(self) -> int:
        pid = self._remote.pid
        assert pid is not None  # a loop has loaded its model before it takes turns
        return pid

    @property
    def tier(self) -> str:
        return self._remote.tier

    @contextlib.contextmanager
    def turn(self, others: list[Loop]) -> Iterator[None]:
        """This loop runs and the others stand."""
        with turn(self.pid, [other.pid for other in others]):
            yield

    def printed(self) -> str:
        return self._remote.output_tail()

    def close(self) -> None:
        """End the worker, stopped or not."""
        if (pid := self._remote.pid) is not None:
            go_on(pid)
        self._remote.close()
