"""The hidden tier on SmolLM2-135M: which tokens, and what the float64 reference says to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

import reference_model as reference
from grader.base.seeds import derive_seed
from grader.results.record import write_atomically
from reference_model import smollm2

from . import real_text

MAPPED_NAME = "smollm2"
PROMPT_LEN, N_STEPS = 8, 16


@dataclass(frozen=True)
class RealModel:
    """Where the weights lie and where the expected logits do; small enough to travel."""

    weights: Path
    config: dict
    trace: Path
    text: real_text.PublicText | None = None

    def expected(self) -> dict[str, np.ndarray]:
        """prompt (1, 8), continuation (1, 16) and float32 decode_logits (17, 1, V)."""
        return load_file(self.trace)


def prepare(secret: bytes, suite_version: str) -> RealModel | None:
    """The real-model tier, or None where the model is not installed.

    The reference takes a few seconds for the trace, so it is kept beside the model, by its seed.
    """
    folder = smollm2.find()
    if folder is None:
        return None
    seed = derive_seed(secret, suite_version, MAPPED_NAME)
    weights = folder / "model.safetensors"
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    trace = folder / f"hidden-trace-{seed:x}.safetensors"
    if not trace.exists():
        write_atomically(trace, save(_trace(config, weights, seed)))
        trace.chmod(0o600)
    return RealModel(weights, config, trace, real_text.prepare(folder))


def _trace(config: dict, weights: Path, seed: int) -> dict[str, np.ndarray]:
    """Random tokens are no worse than text here, and nobody can guess them."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(config["vocab_size"], size=(1, PROMPT_LEN + N_STEPS))
    logits = reference.llama_logits(config, load_file(weights), tokens)
    return {
        "prompt": tokens[:, :PROMPT_LEN],
        "continuation": tokens[:, PROMPT_LEN:],
        "decode_logits": logits[:, PROMPT_LEN - 1 :].transpose(1, 0, 2).astype(np.float32),
    }
