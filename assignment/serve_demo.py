"""GIVEN: twenty prompts at once on a real model, SmolLM2-135M, through your engine (part 12).

    python -m assignment.serve_demo                 a live table of requests, blocks and tokens/s
    python -m assignment.serve_demo --blocks 24     hardly any: watch the preemptions

Then the same prompts one by one, for comparison. The table is live where rich is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import smollm2
from .chat import _place
from .transformer import Transformer, load_model

PROMPTS = (
    "Once upon a time",
    "The capital of France is",
    "Water boils at",
    "def fibonacci(n):",
    "The three primary colours are",
    "In a hole in the ground there lived",
    "To make a cup of tea, first",
    "The mitochondria is",
    "1, 1, 2, 3, 5, 8,",
    "Dear Sir or Madam,",
    "The quick brown fox jumps over the lazy dog. This sentence is known because it",
    "A list of the planets, beginning with the one that is nearest to the Sun: Mercury, Venus,",
    "Two friends met on a bridge in the rain. One of them carried a red umbrella, and",
    "Here is a recipe for pancakes. You need flour, milk, two eggs and a pinch of salt. Begin by",
    "The history of the printing press begins",
    "If it rains tomorrow, we",
    "Photosynthesis is the process by which",
    "The largest animal that has ever lived is",
    "She opened the letter and read:",
    "A good test fails when",
)


@dataclass
class Served:
    """What came of a run: by request its tokens, and what it took."""

    tokens: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0
    n_steps: int = 0
    n_preempted: int = 0

    @property
    def tokens_per_second(self) -> float:
        return sum(map(len, self.tokens)) / self.seconds if self.seconds else 0.0


Show = Callable[[list[tuple[str, ...]], str], None]


def serve(
    parts: Any,
    model: Transformer,
    prompts: list[np.ndarray],
    options: argparse.Namespace,
    max_running: int,
    show: Show = lambda rows, footer: None,
) -> Served:
    """All prompts through an engine, which admits as many as it may.

    Args:
        parts: has PagedKVCache and Engine.
        show: is given the rows of the table after each step, and a line below it.
    """
    config = model.config
    of_model = config.n_layers, config.n_kv_heads, config.head_dim
    cache = parts.PagedKVCache(*of_model, options.blocks, options.block_size, model.dtype)
    engine = parts.Engine(model, cache, options.budget, max_running)
    known = [engine.submit(prompt, options.max_new_tokens) for prompt in prompts]
    served, started = Served(), time.perf_counter()
    while len(engine.running) or len(engine.waiting):
        before = list(engine.running)
        engine.step()
        served.seconds = time.perf_counter() - started
        served.n_steps += 1
        served.n_preempted += len({*before} & {*engine.waiting})
        served.tokens = [[int(t) for t in engine.tokens(number)] for number in known]
        show(*board(engine, cache, prompts, served, options))
    return served


def board(
    engine: Any, cache: Any, prompts: list[np.ndarray], served: Served, options: argparse.Namespace
) -> tuple[list[tuple[str, ...]], str]:
    """The table after a step: a row a request, and a line on blocks and speed."""
    running, waiting = list(engine.running), list(engine.waiting)
    rows = []
    for number, (prompt, tokens) in enumerate(zip(prompts, served.tokens, strict=True)):
        state = "running" if number in running else "waiting" if number in waiting else "done"
        bar = "█" * len(tokens) + "·" * (options.max_new_tokens - len(tokens))
        rows.append((str(number), state, str(len(prompt)), bar))
    used = options.blocks - cache.n_free
    blocks = "▓" * used + "░" * cache.n_free
    footer = (
        f"step {served.n_steps}   blocks {used}/{options.blocks} {blocks}\n"
        f"{served.tokens_per_second:.1f} tokens/s   preempted {served.n_preempted}"
    )
    return rows, footer


@contextlib.contextmanager
def live_table() -> Iterator[Show]:
    """Draws the table in place, or a line a step where rich is not installed or nobody looks."""
    if not sys.stdout.isatty():
        yield lambda rows, footer: print(footer.replace("\n", "   "))
        return
    try:
        from rich.live import Live
        from rich.table import Table
    except ImportError:
        yield lambda rows, footer: print(footer.replace("\n", "   "))
        return
    with Live(refresh_per_second=8) as live:

        def show(rows: list[tuple[str, ...]], footer: str) -> None:
            table = Table("request", "state", "prompt", "made", caption=footer)
            for row in rows:
                table.add_row(*row)
            live.update(table)

        yield show


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m assignment.serve_demo", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--max-new-tokens", type=int, default=12)
    parser.add_argument("--running", type=int, default=8, help="requests at the same time, at most")
    parser.add_argument("--budget", type=int, default=48, help="tokens a step, at most")
    parser.add_argument("--blocks", type=int, default=48)
    parser.add_argument("--block-size", type=int, default=8)
    parser.add_argument("--impl", default=__package__, help="package with the functions to use")
    return parser.parse_args(arguments)


def _run(options: argparse.Namespace) -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = smollm2.fetch()
    names = {"PagedKVCache": "paged_cache", "Engine": "serving"}
    modules = {n: importlib.import_module(f"{options.impl}.{m}") for n, m in names.items()}
    parts = SimpleNamespace(**{name: getattr(module, name) for name, module in modules.items()})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = load_model(config, load_file(folder / "model.safetensors"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    prompts = [np.array(tokenizer.encode(text).ids) for text in PROMPTS]
    with live_table() as show:
        together = serve(parts, model, prompts, options, options.running, show)
    for prompt, tokens in zip(PROMPTS, together.tokens, strict=True):
        print(f"{prompt}|{tokenizer.decode(tokens)}".replace("\n", " "))
    print("\nThe same prompts one by one …")
    alone = serve(parts, model, prompts, options, 1)
    same = sum(a == b for a, b in zip(together.tokens, alone.tokens, strict=True))
    print(f"together:   {together.tokens_per_second:6.1f} tokens/s in {together.n_steps} steps")
    print(f"one by one: {alone.tokens_per_second:6.1f} tokens/s in {alone.n_steps} steps")
    print(f"{same} of {len(prompts)} texts are the same (float32: a near tie may fall differently)")


def main(arguments: list[str]) -> int:
    try:
        _run(_arguments(arguments))
    except NotImplementedError as stub:
        print(f"\nNot there yet: {stub} in assignment/.", file=sys.stderr)
        print("This program runs on your functions.", file=sys.stderr)
        return 1
    except ModuleNotFoundError as missing:
        needs = "pip install gguf safetensors tokenizers"
        print(f"{missing}. Install what it needs: {needs}", file=sys.stderr)
        return 1
    except smollm2.SmolLM2Unavailable as reason:
        print(f"The real model, SmolLM2-135M, is not here: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print()
    except Exception as error:
        print(f"\nYour code stopped with {type(error).__name__}: {error}", file=sys.stderr)
        print(_place(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
