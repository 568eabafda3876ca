"""python -m benchmarks.decode.gpu: tests and figures on a CUDA device, in at most 8 minutes.

Meant for an H100 or H200. Runs the part of the test suite that has something to say there, then
times a model of 1 B parameters in bfloat16, batch 1, and writes docs/benchmarks/decode_gpu.json
and .svg. Each stage has its share of the time; what did not fit is named in the result, and what
was measured before is written all the same.

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
from .sizes import GPU_MODEL, LECTURE_MODEL, random_params

BUDGET = 460.0  # seconds, of which the tests may take TESTS
TESTS = 150.0
# The last two need a GPU and are deselected or skipped elsewhere.
TEST_COMMANDS = (
    ("-q", "tests/test_decode_torch.py"),
    ("-q", "assignment/", "--impl", "solution", "-k", "part10"),
    ("-q", "assignment/", "--impl", "solution", "-m", "gpu"),
)
DEVICE = "cuda"  # the tests try the script out on a CPU
Generate = Callable[[Tensor, int], Tensor]


def main() -> int:
    options = _options()
    if not torch.cuda.is_available():
        print("There is no CUDA device here, so there is nothing to measure.")
        return 2
    start = time.monotonic()
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
        if time.monotonic() - start > BUDGET * 0.85:
            result["left_out"].append(f"context {context}: no time was left")
            continue
        print(f"context {context} ...", flush=True)
        row = _one_context(generators, params, context, options, result["left_out"])
        result["contexts"][context] = row
        results.add_ratios(result)
        results.write(result, options.out, "decode_gpu")
    result["seconds"] = round(time.monotonic() - start)
    _print(result)
    for path in results.write(result, options.out, "decode_gpu"):
        print(path)
    return any(test["returncode"] for test in result["tests"])


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
    """Largest difference, captured step on the GPU against a CPU's step, in float32."""
    config = LECTURE_MODEL
    params = random_params(config)
    prompt = measure.random_prompt(config.vocab_size, 50)
    logits = []
    for device in ("cpu", DEVICE):
        model = TorchTransformer(config.to_dict(), params, device)
        cache = record.RecordCache(config, 1, 64, device)
        tokens = prompt.to(device)
        steps = [record.prefill(model, tokens, cache)]
        for i in range(8):
            steps.append(record.decode_step(model, tokens[:, i], cache).clone())
        logits.append(torch.stack(steps).cpu())
    return {"float32": float((logits[0] - logits[1]).abs().max())}


def _generators(params: loops.Params, left_out: list[str]) -> dict[str, Generate]:
    config, dtype = GPU_MODEL, torch.bfloat16
    model = TorchTransformer(config.to_dict(), params, DEVICE, dtype)
    generators: dict[str, Generate] = {
        "ours bf16": lambda prompt, n: record.generate(model, prompt, n)
    }
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


def _one_context(generators, params, context: int, options, left_out: list[str]) -> dict:
    prompt = measure.random_prompt(GPU_MODEL.vocab_size, context, DEVICE)
    taken: dict[str, dict[int, list[float]]] = {}
    tokens: dict[str, list[int]] = {}
    for name, generate in generators.items():
        try:
            tokens[name] = generate(prompt, n_long(name, options))[0, :8].tolist()
            generate(prompt, 1)
            taken[name] = {n_long(name, options): [], 1: []}
        except Exception as error:  # a competitor that fails here must not lose the others' times
            left_out.append(f"{name} at context {context}: {type(error).__name__}: {error}"[:200])
    for _ in range(options.rounds):
        for name, times in taken.items():
            for n, seconds in times.items():
                seconds.append(_timed(generators[name], prompt, n))
    row = {}
    for name, times in taken.items():
        n = max(times)
        prefill = min(times[1])
        row[name] = measure.summary([[(a - prefill) / (n - 1)] for a in times[n]]) | {
            "prefill_ms": prefill * 1e3,
            "same_tokens": tokens[name] == tokens["ours bf16"][: len(tokens[name])],
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
    """Bytes a second that a sum over this many bytes reads, best of ten."""
    memory = torch.zeros(n_bytes // 4, dtype=torch.float32, device=DEVICE)
    best = min(_timed(lambda memory, _: memory.sum(), memory, 0) for _ in range(10))
    return memory.nbytes / best


def _print(result: dict) -> None:
    for context, row in result["contexts"].items():
        print(f"context {context}:")
        for name, entry in row["loops"].items():
            share = entry.get("share_of_bound")
            note = f"{100 * share:5.1f} % of the bound" if share else ""
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
