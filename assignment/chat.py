"""GIVEN: text from a real trained model, SmolLM2-135M, through your own functions.

    python -m assignment.chat "Once upon a time, in a small village"    continue a text
    python -m assignment.chat                                           talk with it

Uses prefill, decode_step and KVCache (part 4) with whatever they call, and apply_temperature,
top_k and top_p (part 7) when you ask for them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from . import smollm2
from .transformer import load_model

MAX_LEN = 2048
TURN = "<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
END_OF_TURN = "<|im_end|>"


class Generator:
    """A model, its tokenizer and one cache that keeps the conversation."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.attention, self.kv_cache, self.sampling = (
            importlib.import_module(f"{options.impl}.{module}")
            for module in ("attention", "kv_cache", "sampling")
        )
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.model = load_model(config, load_file(folder / "model.safetensors"))
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.options = options
        self.rng = np.random.default_rng(options.seed)
        self.cache = self.kv_cache.KVCache(
            config["n_layers"], 1, config["n_kv_heads"], MAX_LEN, config["head_dim"], np.float32
        )

    def stream(self, text: str) -> Iterator[str]:
        """Append text to the conversation and yield the model's answer piece by piece."""
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        end = self.tokenizer.token_to_id(END_OF_TURN)
        logits = self.kv_cache.prefill(self.model, np.array([tokens]), self.cache)
        answer: list[int] = []
        shown = ""
        for _ in range(self.options.max_new_tokens):
            token = self._choose(logits[0])
            if token == end or self.cache.length == MAX_LEN:
                break
            answer.append(token)
            # A character may take several tokens: show only what can no longer change.
            decoded = self.tokenizer.decode(answer)
            if not decoded.endswith("\N{REPLACEMENT CHARACTER}"):
                yield decoded[len(shown) :]
                shown = decoded
            logits = self.kv_cache.decode_step(self.model, np.array([token]), self.cache)

    def _choose(self, logits: np.ndarray) -> int:
        options = self.options
        if options.temperature == 0:
            return int(logits.argmax())
        logits = self.sampling.apply_temperature(logits.astype(np.float64), options.temperature)
        if options.top_k:
            logits = self.sampling.top_k(logits, options.top_k)
        if options.top_p < 1:
            logits = self.sampling.top_p(logits, options.top_p)
        return int(self.rng.choice(len(logits), p=self.attention.softmax(logits)))


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m assignment.chat", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("prompt", nargs="?", help="a text to continue; without it, a conversation")
    parser.add_argument("--max-new-tokens", type=int, default=120)
    parser.add_argument("--temperature", type=float, default=0.0, help="0 (default) is greedy")
    parser.add_argument("--top-k", type=int, default=0, help="0 (default) keeps all")
    parser.add_argument("--top-p", type=float, default=1.0, help="1 (default) keeps all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--impl", default=__package__, help="package with the functions to use")
    return parser.parse_args(arguments)


def _print_stream(pieces: Iterator[str]) -> None:
    for piece in pieces:
        print(piece, end="", flush=True)
    print()


def _converse(generator: Generator) -> None:
    print("Type a message; an empty line ends the conversation.")
    while text := input("> ").strip():
        _print_stream(generator.stream(TURN.format(text=text)))


def main(arguments: list[str]) -> int:
    options = _arguments(arguments)
    try:
        folder = smollm2.fetch()
        generator = Generator(folder, options)
        if options.prompt:
            print(options.prompt, end="", flush=True)
            _print_stream(generator.stream(options.prompt))
        else:
            _converse(generator)
    except NotImplementedError as stub:
        print(f"\nNot there yet: {stub} in assignment/.", file=sys.stderr)
        print("This program runs on your functions.", file=sys.stderr)
        return 1
    except ModuleNotFoundError as missing:
        print(
            f"{missing}. Install what it needs: pip install gguf safetensors tokenizers",
            file=sys.stderr,
        )
        return 1
    except smollm2.SmolLM2Unavailable as reason:
        print(f"The real model, SmolLM2-135M, is not here: {reason}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        print()
    except Exception as error:
        print(f"\nYour code stopped with {type(error).__name__}: {error}", file=sys.stderr)
        print(_place(error), file=sys.stderr)
        print("The model has 9 query heads and 3 key/value heads: see part 5.", file=sys.stderr)
        return 1
    return 0


def _place(error: Exception) -> str:
    """The innermost line of the student's own files in a traceback."""
    given = {"chat.py", "serve_demo.py", "transformer.py"}
    frames = traceback.extract_tb(error.__traceback__)
    students = [f for f in frames if (Path(f.filename).parent / "transformer.py").exists()]
    wanted = [f for f in students if Path(f.filename).name not in given] or frames
    return f"at {Path(wanted[-1].filename).name}:{wanted[-1].lineno}: {wanted[-1].line}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
