"""SmolLM2-135M: the hidden tier's tokens and what the float64 reference says to them, and a text.

The text is what it writes with a submission's decode; nothing is graded there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

import reference_model as reference
from assignment.harness.real_text import greedy, right_text, text_of
from grader.base.seeds import derive_seed
from grader.results.record import write_atomically
from reference_model import smollm2

MAPPED_NAME = "smollm2"
PROMPT_LEN, N_STEPS = 8, 16


@dataclass(frozen=True)
class PublicText:
    """What the reference writes after the prompt, and how to write it with other functions."""

    tokenizer: Path
    expected: str

    def of(self, student: Any, config: dict, params: Any) -> str:
        """Greedy text of a student's prefill and decode_step; "" where it breaks off or is slow."""
        try:
            return self.decode(greedy(student, config, params))
        except Exception:  # whatever a submission raises: its tests have told about that already
            return ""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, the prompt before it."""
        return text_of(self.tokenizer, tokens)


@dataclass(frozen=True)
class RealModel:
    """Where the weights lie and where the expected logits do; small enough to travel."""

    weights: Path
    config: dict
    trace: Path
    text: PublicText | None = None

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
    return RealModel(weights, config, trace, _public_text(folder))


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


def _public_text(folder: Path) -> PublicText | None:
    """The public text of the model in `folder`, or None without the package tokenizers."""
    if find_spec("tokenizers") is None:
        return None
    tokenizer = folder / "tokenizer.json"
    return PublicText(tokenizer, text_of(tokenizer, right_text().tokens))
