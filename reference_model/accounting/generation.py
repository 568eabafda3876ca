"""What a generated text costs with a cache and without (L2 §5.1, §5.4)."""

from __future__ import annotations

from reference_model.config import ModelConfig

from .operations import analytic_ops
from .work import total


def generation_flops(
    config: ModelConfig,
    prompt: int,
    new_tokens: int,
    cached: bool,
    batch: int = 1,
    last_only: bool = False,
) -> int:
    """Useful FLOPs of generating `new_tokens`.

    lm_head counts for every token that goes through; with `last_only` for the last of each pass.

    With a cache: the prefill gives the first token, then one decode step each. Without: a forward
    pass over all of prompt and text so far for each (L2 exercise 6).
    """
    passes = generation_passes(prompt, new_tokens, cached)
    works = (analytic_ops(config, batch, new, past, last_only) for new, past in passes)
    return sum(total(ops.values()).useful_flops for ops in works)


def generation_passes(prompt: int, new_tokens: int, cached: bool) -> list[tuple[int, int]]:
    """(new tokens, tokens in the cache before them) of every forward pass of a generation."""
    if cached:
        return [(prompt, 0)] + [(1, prompt + done) for done in range(new_tokens - 1)]
    return [(prompt + done, 0) for done in range(new_tokens)]
