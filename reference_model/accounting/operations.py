"""The account of one forward pass as formulas (L2 §4): what `CountedModel` counts as it runs."""

from __future__ import annotations

from reference_model.config import ModelConfig

from .work import Work, attention_work, elementwise_work, matmul_work, total

# Rows of L2's tables, and the operations in them.
GROUPS: dict[str, tuple[str, ...]] = {
    "attention projections": ("w_q", "w_k", "w_v", "w_o"),
    "attention core": ("attention",),
    "MLP": ("w_gate", "w_up", "w_down"),
    "lm_head": ("lm_head",),
    "elementwise": ("norm", "rope", "swiglu", "residual"),
}


def analytic_ops(
    config: ModelConfig,
    batch: int,
    new_tokens: int,
    past: int,
    last_only: bool = False,
    bytes_per_number: int = 2,
) -> dict[str, Work]:
    """Work of a forward pass by operation, all layers together.

    Args:
        batch: sequences B.
        new_tokens: tokens T of each that go through the model: the prompt, or 1 in a decode step.
        past: tokens of each that stand in the cache already.
        last_only: final norm and lm_head for the last position alone, as generation needs it.

    Source: L2 §4.3, `analytic_ops`.
    """
    c, layers, rows = config, config.n_layers, batch * new_tokens
    out_rows = batch if last_only else rows
    query_size, kv_size = c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim

    def matmul(rows: int, inner: int, columns: int, times: int = layers) -> Work:
        return _times(matmul_work(rows, inner, columns, bytes_per_number), times)

    def moved(numbers: int) -> Work:
        return elementwise_work(numbers, bytes_per_number)

    core = attention_work(
        batch, new_tokens, past + new_tokens, c.n_heads, c.n_kv_heads, c.head_dim, bytes_per_number
    )
    return {
        "w_q": matmul(rows, c.d_model, query_size),
        "w_k": matmul(rows, c.d_model, kv_size),
        "w_v": matmul(rows, c.d_model, kv_size),
        "attention": _times(core, layers),
        "w_o": matmul(rows, query_size, c.d_model),
        "w_gate": matmul(rows, c.d_model, c.d_ff),
        "w_up": matmul(rows, c.d_model, c.d_ff),
        "w_down": matmul(rows, c.d_ff, c.d_model),
        "lm_head": matmul(out_rows, c.d_model, c.vocab_size, times=1),
        # Two norms a layer and the final one: x read, the result written.
        "norm": moved(2 * c.d_model * (2 * layers * rows + out_rows)),
        # Queries and keys read and written.
        "rope": moved(2 * layers * rows * (query_size + kv_size)),
        # Gate and up read, their product written.
        "swiglu": moved(3 * layers * rows * c.d_ff),
        # Two a layer: x and f(x) read, the sum written.
        "residual": moved(2 * 3 * layers * rows * c.d_model),
    }


def _times(work: Work, n: int) -> Work:
    return Work(
        n * work.flops,
        n * work.useful_flops,
        n * work.weight_bytes,
        n * work.activation_bytes,
        n * work.kv_bytes,
    )


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
