"""python -m benchmarks.decode.gpu: tests and figures on a CUDA device, in at most 8 minutes.

Meant for an H100 or H200. Runs the tests that need a GPU, compares a captured step with a CPU's,
then times a model of 1 B parameters in bfloat16, batch 1, and writes decode_gpu.json and .svg to
docs/benchmarks. The time is looked at before each loop and round; what did not fit is named in the
result, and what was measured before is written all the same. Exit code 1: a test failed, the steps
differ or our own loop failed.

Timed from outside: whole generations of N and of 1 tokens, a device-wide synchronise before the
clock stops, (t(N) - t(1)) / (N - 1); the median of interleaved rounds. The bound is weights and KV
read at the bandwidth that a plain sum over as many bytes reaches in the same run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from solution.torch_model import TorchTransformer

from . import accounts, loops, measure, record, results
from .device_step import device_step
from .measure import GPU_MODEL, LECTURE_MODEL, random_params

BUDGET = 460.0  # seconds, of which the tests may take TESTS
TESTS = 150.0
TEST_COMMANDS = (("-q", "assignment/", "--impl", "solution", "-m", "gpu"),)
# Of logits of unit size: the largest difference in float32, its root mean square in bfloat16.
LARGEST_DIFFERENCE = {"float32": 1e-4, "bfloat16": 0.02}
SUMS = 20  # for one bandwidth, so that waiting for the last does not count
OURS = "ours bf16"
DEVICE = "cuda"  # the tests try the script out on a CPU
Generate = Callable[[Tensor, int], Tensor]


def main() -> int:
    options = _options()
    if not torch.cuda.is_available():
        print("There is no CUDA device here, so there is nothing to measure.")
        return 2
    start = time.monotonic()
    deadline = start + BUDGET * 0.85
    torch.set_grad_enabled(False)
    result = {
        "what": "decode on a GPU",
        "model": GPU_MODEL.name,
        "config": GPU_MODEL.to_dict(),
        "note": "bfloat16, batch 1, median of interleaved rounds",
        "machine": results.machine(),
        "tests": [] if options.no_tests else _run_tests(),
        "agreement": _agreement(),
        "left_out": [],
        "contexts": {},
    }
    params = random_params(GPU_MODEL, device=DEVICE)
    generators = _generators(params, result["left_out"])
    for context in options.contexts:
        print(f"context {context} ...", flush=True)
        row = _one_context(generators, context, options, deadline, result["left_out"])
        result["contexts"][context] = row
        results.add_ratios(result)
        results.write(result, options.out, "decode_gpu")
    result["seconds"] = round(time.monotonic() - start)
    _print(result)
    for path in results.write(result, options.out, "decode_gpu"):
        print(path)
    found = faults(result)
    print(*found, sep="\n")
    return 1 if found else 0


def faults(result: dict) -> list[str]:
    """What makes the figures worthless: a failed test, steps that differ, our loop left out."""
    found = [
        f"failed: pytest {' '.join(t['arguments'])}" for t in result["tests"] if t["returncode"]
    ]
    for dtype, difference in result["agreement"].items():
        if not difference <= LARGEST_DIFFERENCE[dtype]:
            limit = LARGEST_DIFFERENCE[dtype]
            found.append(
                f"{dtype}: the steps differ by {difference:.1e}, at most {limit:.0e} is right"
            )
    for context, row in result["contexts"].items():
        if OURS not in row["loops"]:
            found.append(f"context {context}: our own loop has no time")
    return found


def _run_tests() -> list[dict]:
    done, deadline = [], time.monotonic() + TESTS
    for arguments in TEST_COMMANDS:
        left = max(5.0, deadline - time.monotonic())
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=left, check=False)
            code, tail = run.returncode, run.stdout.splitlines()[-3:]
        except subprocess.TimeoutExpired:
            code, tail = 124, [f"stopped after {left:.0f} s"]
        print(" ".join(arguments), *tail, sep="\n    ", flush=True)
        done.append({"arguments": arguments, "returncode": code, "tail": tail})
    return done


def _agreement() -> dict[str, float]:
    """How far a captured step on the GPU is from a CPU's: see LARGEST_DIFFERENCE."""
    params = random_params(LECTURE_MODEL)
    expected = _some_logits(params, "cpu", torch.float64)
    single = _some_logits(params, DEVICE, torch.float32) - expected
    # Weights that both can hold, so that only the computing differs.
    rounded = {name: w.bfloat16().float() for name, w in params.items()}
    half = _some_logits(rounded, DEVICE, torch.bfloat16)
    half -= _some_logits(rounded, "cpu", torch.float64)
    return {"float32": float(single.abs().max()), "bfloat16": float(half.square().mean().sqrt())}


def _some_logits(params: loops.Params, device: str, dtype: torch.dtype) -> Tensor:
    """float64 (9, 1, V): of a prompt and eight decode steps."""
    config = LECTURE_MODEL
    model = TorchTransformer(config.to_dict(), params, device, dtype)
    cache = record.RecordCache(config, 1, 64, device, dtype)
    tokens = measure.random_prompt(config.vocab_size, 50, device)
    steps = [record.prefill(model, tokens, cache).clone()]
    for i in range(8):
        steps.append(record.decode_step(model, tokens[:, i], cache).clone())
    return torch.stack(steps).double().cpu()


def _generators(params: loops.Params, left_out: list[str]) -> dict[str, Generate]:
    config, dtype = GPU_MODEL, torch.bfloat16
    model = TorchTransformer(config.to_dict(), params, DEVICE, dtype)
    generators: dict[str, Generate] = {OURS: lambda prompt, n: record.generate(model, prompt, n)}
    generators["recompute bf16"] = lambda prompt, n: _by_loop(loops.Recompute(model, n), prompt, n)

    eager = loops.StaticEager(config, params, dtype, 0)

    def static_eager(prompt: Tensor, n: int) -> Tensor:
        eager.room = n
        return _by_loop(eager, prompt, n)

    generators["static eager bf16"] = static_eager
    if loops.can_compile(DEVICE):
        options = {"mode": "reduce-overhead", "fullgraph": True}
        compiled = loops.StaticCompiled(config, params, dtype, 256, **options)
        generators["static compiled bf16"] = lambda prompt, n: _by_loop(compiled, prompt, n)
        compiled_step = torch.compile(device_step, dynamic=False)
        again = TorchTransformer(config.to_dict(), params, DEVICE, dtype)
        generators["ours compiled bf16"] = lambda prompt, n: record.generate(
            again, prompt, n, compiled_step
        )
    else:
        left_out.append("static compiled: torch.compile needs Triton and a C compiler")
    try:
        theirs = loops.huggingface_model(config, params, dtype)
    except ImportError:
        left_out.append("Hugging Face: transformers is not installed")
        return generators
    for kind in ("dynamic", "static"):
        generators[f"HF {kind} bf16"] = _huggingface(theirs, kind)
    return generators


def _by_loop(loop: loops.Loop, prompt: Tensor, n: int) -> Tensor:
    loop.begin(prompt)
    loop.run(n - 1)
    return torch.stack(loop.tokens, dim=1)


def _huggingface(model, kind: str) -> Generate:
    def generate(prompt: Tensor, n: int) -> Tensor:
        loop = loops.HuggingFace(model, kind, n)
        loop.begin(prompt)
        return loop.generate(n)

    return generate


def _one_context(generators, context: int, options, deadline: float, left_out: list[str]) -> dict:
    """A row of the result: whoever fails or finds no time left is named and has no entry."""
    prompt = measure.random_prompt(GPU_MODEL.vocab_size, context, DEVICE)
    taken: dict[str, dict[int, list[float]]] = {}
    tokens: dict[str, list[int]] = {}
    for name, generate in generators.items():
        if time.monotonic() > deadline:
            left_out.append(f"{name} at context {context}: no time was left")
            continue
        try:
            tokens[name] = generate(prompt, n_long(name, options))[0, :8].tolist()
            generate(prompt, 1)
            taken[name] = {n_long(name, options): [], 1: []}
        except Exception as error:  # a competitor that fails here must not lose the others' times
            left_out.append(f"{name} at context {context}: {type(error).__name__}: {error}"[:200])
    for round_number in range(options.rounds):
        if taken and round_number and time.monotonic() > deadline:
            missing = options.rounds - round_number
            left_out.append(f"context {context}: no time was left for the last {missing} rounds")
            break
        for name, times in taken.items():
            for n, seconds in times.items():
                seconds.append(_timed(generators[name], prompt, n))
    row = {}
    for name, times in taken.items():
        n = max(times)
        prefill = min(times[1])
        row[name] = measure.summary([[(a - prefill) / (n - 1)] for a in times[n]]) | {
            "prefill_ms": prefill * 1e3,
            "same_tokens": tokens[name] == tokens.get(OURS, [])[: len(tokens[name])],
        }
    account = accounts.step_account(GPU_MODEL, context, bytes_per_number=2)
    n_bytes = account["weight_bytes"] + account["kv_bytes"]
    bandwidth = _bandwidth(n_bytes)
    row["bound bf16"] = {"ms": n_bytes / bandwidth * 1e3, "gb_per_s": bandwidth / 1e9}
    return {"loops": row, "account": account}


def n_long(name: str, options: argparse.Namespace) -> int:
    """Tokens of a long generation; a few will do for the loop that recomputes."""
    return 3 if name.startswith("recompute") else options.tokens


def _timed(generate: Generate, prompt: Tensor, n: int) -> float:
    _synchronise()
    start = time.perf_counter()
    generate(prompt, n)
    _synchronise()
    return time.perf_counter() - start


def _synchronise() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def _bandwidth(n_bytes: int) -> float:
    """Bytes a second that sums over this many bytes read, best of five."""
    memory = torch.zeros(n_bytes // 4, dtype=torch.float32, device=DEVICE)

    def sums(memory: Tensor, n: int) -> Tensor:
        for _ in range(n):
            total = memory.sum()
        return total

    sums(memory, 1)
    return memory.nbytes * SUMS / min(_timed(sums, memory, SUMS) for _ in range(5))


def _print(result: dict) -> None:
    for context, row in result["contexts"].items():
        print(f"context {context}:")
        for name, entry in row["loops"].items():
            share = entry.get("share_of_bound")
            note = f"{100 * share:5.1f} % of the bound" if share else ""
            if entry.get("same_tokens") is False:  # in bfloat16 close logits may change places
                note += ", other tokens than ours"
            print(f"    {name:22} {entry['ms']:8.3f} ms a token  {note}")
    print(*result["left_out"], sep="\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 1024, 4096, 256, 2048])
    parser.add_argument("--tokens", type=int, default=129, help="N")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--no-tests", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
