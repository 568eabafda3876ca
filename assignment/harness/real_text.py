"""The text a real model writes when a student's decode drives it, after a prompt everybody knows.

A wrong position or a forgotten key raises no error and still gives words; beside the right text
the student sees what it costs. Nothing is graded here.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .cases import read_safetensors
from .limit import TookTooLong
from .student import NotStarted

TEXT_FILE = Path(__file__).parent.parent / "golden" / "real_text.json"
# A class of 1,000 with a slow decode must not wait for text.
MAX_SECONDS = 8.0
# One's own can, for a while.
MAX_SECONDS_AT_HOME = 30.0
_COURSE = __package__.rpartition(".")[0]


@dataclass(frozen=True)
class RightText:
    """A prompt, its token ids, and the likeliest ids after it, as the reference says."""

    prompt: str
    prompt_tokens: tuple[int, ...]
    tokens: tuple[int, ...]


@cache
def right_text() -> RightText:
    """What golden/ holds."""
    content = json.loads(TEXT_FILE.read_text(encoding="utf-8"))
    tokens = {name: tuple(content[name]) for name in ("prompt_tokens", "tokens")}
    return RightText(content["prompt"], **tokens)


@dataclass(frozen=True)
class ModelText:
    """What the real model writes; `own` and `expected` begin where the two texts part."""

    shared: str
    own: str
    expected: str
    is_right: bool

    @classmethod
    def of(cls, own: str, expected: str) -> ModelText:
        """Two texts side by side."""
        n_shared = _shared(own, expected)
        return cls(own[:n_shared], own[n_shared:], expected[n_shared:], own == expected)


def _shared(one: str, other: str) -> int:
    """How many characters agree, whole words only."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    if one == other:
        return count
    return one.rfind(" ", 0, count + 1) + 1 if " " in one[: count + 1] else 0


def text_of(tokenizer: Path, tokens: Sequence[int]) -> str:
    """The text of token ids, the prompt before it."""
    from tokenizers import Tokenizer

    return right_text().prompt + Tokenizer.from_file(str(tokenizer)).decode(list(tokens))


def text_at_home(student: Any, watched: Callable[[], AbstractContextManager]) -> ModelText | None:
    """The text with a student's functions; None where the model or its tokenizer is not installed,
    or a function not yet written.

    Args:
        watched: stops calls that do not end.
    """
    folder = _model_folder()
    if folder is None:
        return None
    tokenizer = folder / "tokenizer.json"
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    try:
        params, _ = read_safetensors(folder / "model.safetensors")
        with contextlib.redirect_stdout(io.StringIO()), watched():
            tokens = greedy(student, config, params, seconds=MAX_SECONDS_AT_HOME)
    except NotStarted:
        return None
    except (Exception, SystemExit, TookTooLong):  # its tests have told about that already
        expected = text_of(tokenizer, right_text().tokens)
        return ModelText("", "", expected, is_right=False)
    # Of a slow decode, which got less far, as much as there is.
    expected = text_of(tokenizer, right_text().tokens[: len(tokens)])
    return ModelText.of(text_of(tokenizer, tokens), expected)


def _model_folder() -> Path | None:
    try:
        importlib.import_module("tokenizers")
        return importlib.import_module(f"{_COURSE}.smollm2").find()
    except ImportError:
        return None


def greedy(
    student: Any,
    config: dict,
    params: Any,
    prompt: Sequence[int] | None = None,
    n_tokens: int | None = None,
    seconds: float = MAX_SECONDS,
) -> list[int]:
    """The likeliest token again and again, through a student's prefill and decode_step.

    Args:
        prompt, n_tokens: those of the right text, where none are given.

    Raises:
        ValueError: logits of the wrong shape, or not finite.
    """
    prompt = right_text().prompt_tokens if prompt is None else prompt
    n_tokens = len(right_text().tokens) if n_tokens is None else n_tokens
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
