"""What the accounts say, to stand beside what was measured (L2 §4, §5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from reference_model.accounting import analytic_ops, generation_flops, total
from reference_model.config import ModelConfig
from solution.torch_model import TorchTransformer

from . import now, record
from .loops import Params, Recompute
from .measure import random_prompt


def step_account(config: ModelConfig, context: int, bytes_per_number: int) -> dict[str, float]:
    """FLOPs and bytes of one token at this context, with a cache and without."""
    cached = total(analytic_ops(config, 1, 1, context, bytes_per_number=bytes_per_number).values())
    whole = total(analytic_ops(config, 1, context + 1, 0, last_only=True).values())
    return {
        "flops": cached.useful_flops,
        "recompute_flops": whole.useful_flops,
        "weight_bytes": cached.weight_bytes,
        "kv_bytes": cached.kv_bytes,
    }


def cache_against_recompute(
    config: ModelConfig, params: Params, prompt_length: int, lengths: Sequence[int]
) -> list[dict[str, float]]:
    """L2 §5.4's table: whole generations of n tokens, FLOP ratio and time ratio."""
    model = TorchTransformer(config.to_dict(), params)
    prompt = random_prompt(config.vocab_size, prompt_length)
    record.generate(model, prompt, 4)
    rows = []
    for n in lengths:
        with_cache, ours = _timed(lambda n=n: record.generate(model, prompt, n), 3)
        without, theirs = _timed(lambda n=n: _recompute(model, prompt, n), 1)
        flops = [generation_flops(config, prompt_length, n, cached=c) for c in (False, True)]
        rows.append(
            {
                "new_tokens": n,
                "flops": flops[0],
                "flops_cached": flops[1],
                "flop_ratio": flops[0] / flops[1],
                "seconds": without,
                "seconds_cached": with_cache,
                "time_ratio": without / with_cache,
                "same_tokens": bool(torch.equal(ours, theirs)),
            }
        )
    return rows


def _recompute(model: TorchTransformer, prompt: torch.Tensor, n: int) -> torch.Tensor:
    loop = Recompute(model, n)
    loop.begin(prompt)
    loop.run(n - 1)
    return torch.stack(loop.tokens, dim=1)


def _timed(work, repeats: int) -> tuple[float, torch.Tensor]:
    times = []
    for _ in range(repeats):
        start = now()
        result = work()
        times.append(now() - start)
    return min(times), result
