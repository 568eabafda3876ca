"""Writes golden/real_text.json: what SmolLM2-135M writes after a prompt, as the reference says.

    python -m grader.authoring.real_text

Needs the real model (`python -m reference_model.smollm2`), and so is no part of `make assignment`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import reference_model as reference
import solution.kv_cache
import solution.transformer
from assignment.harness.real_text import TEXT_FILE, greedy
from reference_model import smollm2

PROMPT = "Once upon a time, in a small village"
N_TOKENS = 32


class _Solution:
    KVCache = solution.kv_cache.KVCache
    prefill = staticmethod(solution.kv_cache.prefill)
    decode_step = staticmethod(solution.kv_cache.decode_step)
    load_model = staticmethod(solution.transformer.load_model)


def make(folder: Path) -> dict:
    """The contents of the file. The solution writes the tokens, and the reference confirms each."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    params = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompt = tokenizer.encode(PROMPT, add_special_tokens=False).ids
    tokens = greedy(_Solution, config, params, prompt, N_TOKENS, seconds=float("inf"))
    logits = reference.llama_logits(config, params, np.array([[*prompt, *tokens]]))[0]
    best = logits[len(prompt) - 1 : -1].argmax(axis=-1)
    if best.tolist() != tokens:
        raise ValueError("the solution and the reference take different tokens for the likeliest")
    return {"prompt": PROMPT, "prompt_tokens": prompt, "tokens": tokens}


def main() -> int:
    folder = smollm2.find()
    if folder is None:
        print("The real model is not here: python -m reference_model.smollm2", file=sys.stderr)
        return 1
    TEXT_FILE.write_text(json.dumps(make(folder)) + "\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
