"""python -m benchmarks.decode: every decode loop side by side on this machine's CPU.

    python -m benchmarks.decode                          contexts 64 to 4096, at most 10 minutes
    python -m benchmarks.decode --quick                  contexts 64 and 512, under a minute
    python -m benchmarks.decode --out docs/benchmarks    where the JSON and the plot go
    OMP_NUM_THREADS=1 python -m benchmarks.decode        one core, for torch and numpy alike
    OMP_NUM_THREADS=1 python -m benchmarks.decode --cpu-time     on a machine that others keep busy

Prints ms a token of each loop, its ratio to ours and its share of what plain matrix-vector
products over the same bytes reach, all from one interleaved run on the same weights.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

from solution.torch_model import TorchTransformer

from . import accounts, count_cpu_time, loops, measure, results
from .bound import Bound
from .c_step import can_step
from .measure import CPU_MODEL, LECTURE_MODEL, random_params

# Compiling takes half a minute for each dtype and each size of cache, so not at every context.
COMPILED_CONTEXTS = (64, 1024, 4096)
LECTURE_SECONDS = 30
LEAST_SECONDS = 10  # for a context; on a busy machine the longest may find no time left


def main() -> int:
    options = _options()
    deadline = time.monotonic() + 60 * options.minutes - LECTURE_SECONDS
    if options.cpu_time:
        count_cpu_time()
    torch.set_grad_enabled(False)
    config, params = CPU_MODEL, random_params(CPU_MODEL)
    models = {
        kind: TorchTransformer(config.to_dict(), params, dtype=dtype)
        for kind, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16))
    }
    result = {
        "what": "decode on a CPU",
        "model": config.name,
        "config": config.to_dict(),
        "note": "median of interleaved repeats"
        + (", CPU time of one thread" if options.cpu_time else ""),
        "machine": results.machine(),
        "contexts": {},
        "left_out": [],
    }
    result["our_step"] = {
        kind: "C" if can_step("cpu", model.dtype, batch_size=1) else "torch"
        for kind, model in models.items()
    }
    if "torch" in result["our_step"].values():
        print("Our step in torch alone: no C compiler with OpenMP.", file=sys.stderr)
    competitors = _huggingface(config, params)
    if not (options.compiled or options.quick):
        print("Without the compiled loop: no C++ compiler, or no Python headers.", file=sys.stderr)
    for done, context in enumerate(options.contexts):
        options.seconds = seconds_for_one(deadline, len(options.contexts) - done)
        if done and options.seconds < LEAST_SECONDS:
            print(f"context {context} left out: --minutes are over.", file=sys.stderr)
            result["left_out"].append(context)
            continue
        print(f"context {context} ...", file=sys.stderr, flush=True)
        row = _one_context(config, params, models, competitors, context, options)
        result["contexts"][context] = row
    result["lecture"] = accounts.cache_against_recompute(
        LECTURE_MODEL, random_params(LECTURE_MODEL), 64, options.lengths
    )
    result["load_average_after"] = results.machine()["load_average"]
    results.add_ratios(result)
    results.print_tables(result)
    load = result["machine"]["load_average"][0], result["load_average_after"][0]
    print(f"Load average {load[0]} at the start, {load[1]} at the end, on {_cores()} cores.")
    name = "decode_cpu_time" if options.cpu_time else "decode_cpu"
    for path in results.write(result, options.out, name):
        print(path)
    return 0


def seconds_for_one(deadline: float, n_left: int) -> float:
    """The share of the time left that one of n_left contexts may take."""
    return max(0.0, deadline - time.monotonic()) / n_left


def _one_context(config, params, models, competitors, context, options) -> dict:
    room = 2 + options.rounds * (measure.UNTIMED_STEPS + options.steps)
    timed: dict[str, loops.Loop] = {
        "recompute": loops.Recompute(models["f32"], room),
        "numpy": loops.Numpy(config, params, room),
        "static eager f32": loops.StaticEager(config, params, torch.float32, room),
        "static eager bf16": loops.StaticEager(config, params, torch.bfloat16, room),
    }
    if options.compiled and context in COMPILED_CONTEXTS:
        for kind, model in models.items():
            loop = loops.StaticCompiled(config, params, model.dtype, room)
            timed[f"static compiled {kind}"] = loop
    for name, model in competitors.items():
        for kind in ("dynamic", "static"):
            timed[f"HF {kind} {name}"] = loops.HuggingFace(model, kind, room)
    for kind, model in models.items():
        timed[f"answer {kind}"] = loops.Answer(model, room)
        timed[f"ours {kind}"] = loops.Ours(model, room)
    bounds = {f"bound {kind}": Bound(model, context) for kind, model in models.items()}
    prompt = measure.random_prompt(config.vocab_size, context)
    row = measure.interleaved(timed, bounds, prompt, options)
    same = measure.same_tokens(timed, "ours f32")
    for name, agrees in same.items():
        row[name]["same_tokens"] = agrees
        # bfloat16 rounds: its tokens may differ where two logits are close.
        if not agrees and "bf16" not in name:
            raise SystemExit(f"{name} made other tokens than ours at context {context}")
    return {
        "loops": row,
        "bytes": {name: bound.bytes for name, bound in bounds.items()},
        "account": accounts.step_account(config, context, bytes_per_number=4),
    }


def _huggingface(config, params) -> dict:
    try:
        kinds = (("f32", torch.float32), ("bf16", torch.bfloat16))
        return {kind: loops.huggingface_model(config, params, dtype) for kind, dtype in kinds}
    except ImportError:
        print("Without Hugging Face: transformers is not installed.", file=sys.stderr)
        return {}


def _cores() -> int:
    return results.machine()["cores"]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer contexts and rounds")
    parser.add_argument("--contexts", type=int, nargs="+")
    parser.add_argument("--lengths", type=int, nargs="+", help="generations of the L2 §5.4 table")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--steps", type=int, default=8, help="steps of a loop in a round")
    parser.add_argument("--minutes", type=float, default=9, help="for the whole run")
    parser.add_argument("--cpu-time", action="store_true", help="on a busy machine, one thread")
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks"))
    options = parser.parse_args()
    options.contexts = options.contexts or (
        [64, 512] if options.quick else [64, 256, 1024, 2048, 4096]
    )
    options.lengths = options.lengths or ([16, 64] if options.quick else [16, 64, 256])
    options.rounds = options.rounds or (4 if options.quick else 10)
    options.compiled = not options.quick and loops.can_compile("cpu")
    if options.quick:
        options.minutes = min(options.minutes, 1.5)
    return options


if __name__ == "__main__":
    sys.exit(main())
