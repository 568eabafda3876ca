"""The text a real model writes when a student's decode drives it, after a prompt everybody knows.

A wrong position or a forgotten key raises no error and still gives words; beside the right text
the student sees what it costs. Nothing is graded here.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import reference_model as reference
from grader.results.record import write_atomically

PROMPT = "Once upon a time, in a small village"
N_TOKENS = 32
# A class of 1,000 with a slow decode must not wait for text.
MAX_SECONDS = 8.0


@dataclass(frozen=True)
class PublicText:
    """What the reference writes after PROMPT, and how to write it with other functions."""

    tokenizer: Path
    prompt: tuple[int, ...]
    expected: str

    def of(self, student: Any, config: dict, params: Any) -> str:
        """Greedy text of a student's prefill and decode_step; "" where it breaks off or is slow."""
        try:
            return self.decode(greedy(student, config, params, self.prompt))
        except Exception:  # whatever a submission raises: its tests have told about that already
            return ""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, the prompt before it."""
        from tokenizers import Tokenizer

        return PROMPT + Tokenizer.from_file(str(self.tokenizer)).decode(list(tokens))


def prepare(folder: Path, config: dict, load_params: Callable[[], dict]) -> PublicText | None:
    """The public text of the model in `folder`, or None without the package tokenizers.

    The solution writes it and the reference confirms each token, in one pass; it is then kept
    beside the model.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    tokenizer = folder / "tokenizer.json"
    prompt = tuple(Tokenizer.from_file(str(tokenizer)).encode(PROMPT, add_special_tokens=False).ids)
    name = hashlib.sha256(f"{PROMPT} {N_TOKENS}".encode()).hexdigest()[:12]
    kept = folder / f"public-text-{name}.json"
    if not kept.exists():
        tokens = _reference_tokens(config, load_params(), prompt)
        write_atomically(kept, json.dumps(tokens).encode())
    tokens = json.loads(kept.read_text(encoding="utf-8"))
    text = PublicText(tokenizer, prompt, "")
    return PublicText(tokenizer, prompt, text.decode(tokens))


def _reference_tokens(config: dict, params: dict, prompt: tuple[int, ...]) -> list[int]:
    """Greedy tokens, as far as the reference agrees with them."""
    import solution.kv_cache
    import solution.transformer

    class Solution:
        KVCache = solution.kv_cache.KVCache
        prefill = staticmethod(solution.kv_cache.prefill)
        decode_step = staticmethod(solution.kv_cache.decode_step)
        load_model = staticmethod(solution.transformer.load_model)

    tokens = greedy(Solution, config, params, prompt, seconds=float("inf"))
    logits = reference.llama_logits(config, params, np.array([[*prompt, *tokens]]))[0]
    best = logits[len(prompt) - 1 : -1].argmax(axis=-1)
    agrees = best == np.array(tokens)
    return tokens if agrees.all() else tokens[: int(agrees.argmin())]


def greedy(
    student: Any,
    config: dict,
    params: Any,
    prompt: Sequence[int],
    n_tokens: int = N_TOKENS,
    seconds: float = MAX_SECONDS,
) -> list[int]:
    """The likeliest token again and again, through a student's prefill and decode_step.

    Raises:
        ValueError: logits of the wrong shape, or not finite.
    """
    deadline = time.monotonic() + seconds
    network = student.load_model(config, params)
    cache = student.KVCache(
        config["n_layers"],
        1,
        config["n_kv_heads"],
        len(prompt) + n_tokens,
        config["head_dim"],
        np.dtype(np.float32),
    )
    logits = student.prefill(network, np.array([prompt]), cache)
    tokens: list[int] = []
    while True:
        tokens.append(_likeliest(logits, config["vocab_size"]))
        if len(tokens) == n_tokens or time.monotonic() > deadline:
            return tokens
        logits = student.decode_step(network, np.array(tokens[-1:]), cache)


def _likeliest(logits: Any, vocab_size: int) -> int:
    if type(logits) is not np.ndarray or logits.shape != (1, vocab_size):
        raise ValueError("no logits of one token")
    if logits.dtype.kind != "f" or not np.isfinite(logits).all():
        raise ValueError("logits that are not finite numbers")
    return int(logits[0].argmax())
