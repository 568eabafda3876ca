"""Tokens per second against the number of requests: part 12's engine beside others, and the bound.

    OMP_NUM_THREADS=1 python -m benchmarks.serving          about a minute on one core
    OMP_NUM_THREADS=1 python -m benchmarks.serving --requests 1 4 --new-tokens 8

Beside the engine of `solution/`: part 4's generate for one request after the other, and Hugging
Face's generate on a left-padded batch, all on the same float32 weights of 26 M parameters. Seconds
are CPU time of this process on one thread, so that neighbours on the machine count little; the
bound is the roofline of this CPU as numpy reaches it, decode steps only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

import numpy as np
import torch
import transformers

from benchmarks.decode.loops import huggingface_model
from benchmarks.decode.measure import CPU_MODEL, random_params
from reference_model import accounting
from solution.kv_cache import generate
from solution.paged_cache import PagedKVCache
from solution.serving import Engine
from solution.transformer import Transformer, load_model

PROMPT_LENGTHS = (12, 40)
BLOCK_SIZE = 16


def both_models() -> tuple[transformers.LlamaForCausalLM, Transformer]:
    """Hugging Face's model and the course's, with the same random weights."""
    params = random_params(CPU_MODEL)
    sizes = {name: value for name, value in asdict(CPU_MODEL).items() if name != "rope_scaling"}
    ours = load_model(sizes, {name: weights.numpy() for name, weights in params.items()})
    return huggingface_model(CPU_MODEL, params, torch.float32), ours


def by_engine(model: Transformer, prompts: list[np.ndarray], n_new: int) -> list[list[int]]:
    """All requests at once, with blocks for all."""
    config = model.config
    n_blocks = sum(-(-(len(prompt) + n_new) // BLOCK_SIZE) for prompt in prompts)
    sizes = config.n_layers, config.n_kv_heads, config.head_dim, n_blocks, BLOCK_SIZE
    cache = PagedKVCache(*sizes, model.dtype)
    engine = Engine(model, cache, token_budget=512, max_running=len(prompts))
    known = [engine.submit(prompt, n_new) for prompt in prompts]
    while engine.running or engine.waiting:
        engine.step()
    return [engine.tokens(number) for number in known]


def one_by_one(model: Transformer, prompts: list[np.ndarray], n_new: int) -> list[list[int]]:
    return [generate(model, prompt[None], n_new)[0].tolist() for prompt in prompts]


def by_hugging_face(
    model: transformers.LlamaForCausalLM, prompts: list[np.ndarray], n_new: int
) -> list[list[int]]:
    """Left-padded to the longest prompt, as their documentation has it."""
    longest = max(map(len, prompts))
    tokens = torch.zeros((len(prompts), longest), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.from_numpy(prompt)
        mask[row, longest - len(prompt) :] = 1
    with torch.inference_mode():
        made = model.generate(
            tokens, attention_mask=mask, max_new_tokens=n_new, min_new_tokens=n_new, do_sample=False
        )
    return made[:, longest:].tolist()


def bound(prompts: list[np.ndarray], n_new: int, cpu: accounting.Hardware) -> float:
    """Tokens per second if each step took the roofline of its weights and its cache."""
    context = int(np.mean([len(prompt) for prompt in prompts])) + n_new // 2
    ops = accounting.analytic_ops(CPU_MODEL, len(prompts), 1, context - 1, bytes_per_number=4)
    step = accounting.total(ops.values())
    work = accounting.Work(step.flops, step.useful_flops, step.weight_bytes, 0, step.kv_bytes)
    return len(prompts) / accounting.seconds(work, cpu)


def measured(run: Callable[[], list[list[int]]], repeats: int) -> tuple[float, list[list[int]]]:
    """The least CPU seconds of some runs, and the tokens."""
    best, made = float("inf"), []
    for _ in range(repeats):
        start = time.process_time()
        made = run()
        best = min(best, time.process_time() - start)
    return best, made


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--requests", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--new-tokens", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args(arguments)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("CPU time counts all threads: run it with OMP_NUM_THREADS=1", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    theirs, ours = both_models()
    cpu, n_new = accounting.measure_this_cpu(), options.new_tokens
    rng = np.random.default_rng(0)
    print(f"{'requests':>8} {'engine':>8} {'1 by 1':>8} {'HF batch':>8} {'bound':>8}   tokens/s")
    for n in options.requests:
        lengths = rng.integers(*PROMPT_LENGTHS, size=n)
        prompts = [rng.integers(1, CPU_MODEL.vocab_size, size=length) for length in lengths]
        runs = {
            "engine": lambda prompts=prompts: by_engine(ours, prompts, n_new),
            "alone": lambda prompts=prompts: one_by_one(ours, prompts, n_new),
            "theirs": lambda prompts=prompts: by_hugging_face(theirs, prompts, n_new),
        }
        results = {name: measured(run, options.repeats) for name, run in runs.items()}
        speeds = [n * n_new / results[name][0] for name in runs]
        made = {name: tokens for name, (_, tokens) in results.items()}
        same = [
            sum(a == b for a, b in zip(made["engine"], made[other], strict=True))
            for other in ("alone", "theirs")
        ]
        shown = " ".join(f"{speed:8.1f}" for speed in [*speeds, bound(prompts, n_new, cpu)])
        print(f"{n:8} {shown}   {same[0]} and {same[1]} texts the same", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
