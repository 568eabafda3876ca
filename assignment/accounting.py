# Generated from solution/accounting.py by `make assignment`; a change belongs there.
"""Part 8: what a model holds, moves and computes (L2 §4, §5.5, §5.6, §6; D3 "多头").

Counts are Python ints, exact to the last digit; a product (M, K) @ (K, N) takes 2MKN FLOPs.
"""

from __future__ import annotations

from math import prod

from .transformer import MLAConfig, ModelConfig


def n_params(config: ModelConfig) -> int:
    """All numbers of a model: embedding table, matrices, norm weights and lm_head.

    Args:
        config: sizes; where `tied` is set, lm_head is the embedding table and not a second one.

    Source: L2 §4.2, exercise 1.
    """
    raise NotImplementedError("Part 8.1 n_params: see README.md §8.1")


def matmul_params(config: ModelConfig) -> int:
    """The numbers that every token is multiplied by in a matrix product.

    Norm weights multiply elementwise and do not count; neither does the embedding, which is looked
    up. lm_head counts, whether it is a matrix of its own or the tied table.

    Source: L2 §1.8, §4.2.
    """
    raise NotImplementedError("Part 8.2 matmul_params: see README.md §8.2")


def kv_bytes_per_token(config: ModelConfig, bytes_per_number: int = 2) -> int:
    """Bytes that one token adds to the KV cache, all layers together.

    Args:
        bytes_per_number: 2 for BF16, 1 for int8 and FP8.

    Source: L2 §5.5, exercises 1 and 5.
    """
    raise NotImplementedError("Part 8.3 kv_bytes_per_token: see README.md §8.3")


def einsum_flops(spec: str, *shapes: tuple[int, ...]) -> int:
    """FLOPs of a contraction: twice the product of all sizes, each letter taken once.

    einsum_flops("btd,df->btf", (2, 3, 4), (4, 5)) is 2 * 2 * 3 * 4 * 5 = 240.

    Args:
        spec: two operands and a result, such as "btd,df->btf", without spaces or "...".
        shapes: one for each operand.

    Raises:
        ValueError: a letter stands for two sizes, or a shape has more or fewer axes than its
            operand has letters.

    Source: L2 §3.5, exercise 3.
    """
    raise NotImplementedError("Part 8.4 einsum_flops: see README.md §8.4")


def forward_flops(
    config: ModelConfig, batch: int, new_tokens: int, past: int, last_only: bool = False
) -> dict[str, int]:
    """Useful FLOPs of a forward pass by operation, all layers together.

    The attention core computes scores and weighted sum, and counts what the causal mask allows
    only: new token t (from 0) sees the `past` tokens, those before it and itself. Norms, RoPE,
    softmax and other elementwise work count as 0.

    Args:
        batch: sequences B.
        new_tokens: tokens T of each that go through the model: the prompt, or 1 in a decode step.
        past: tokens of each that stand in the cache already.
        last_only: lm_head for the last token of each sequence alone, as generation needs it.

    Returns:
        FLOPs under "w_q", "w_k", "w_v", "attention", "w_o", "w_gate", "w_up", "w_down" and
        "lm_head": the names under which `transformer.Counter` logs products, and the core.

    Source: L2 §4.1, §4.3.
    """
    raise NotImplementedError("Part 8.5 forward_flops: see README.md §8.5")


def generation_flops(config: ModelConfig, prompt: int, new_tokens: int, cached: bool) -> int:
    """Useful FLOPs of generating `new_tokens` for one sequence, with a KV cache or without.

    With a cache, the prefill gives the first new token and a decode step each of the others.
    Without, each takes a forward pass over the prompt and all new tokens so far. lm_head runs for
    every token that goes through the model, in both.

    Args:
        prompt: tokens of the prompt.
        new_tokens: 1 or more.

    Source: L2 §5.1, §5.4, exercise 6.
    """
    raise NotImplementedError("Part 8.6 generation_flops: see README.md §8.6")


def roofline_seconds(flops: float, n_bytes: float, peak_flops: float, bandwidth: float) -> float:
    """The least time an operation can take on a machine that computes while it moves data.

    Args:
        flops: work, in FLOPs.
        n_bytes: bytes moved to or from memory.
        peak_flops: of the machine, in FLOP/s.
        bandwidth: of its memory, in bytes/s.

    Source: L2 §4.5.
    """
    raise NotImplementedError("Part 8.7 roofline_seconds: see README.md §8.7")


def decode_intensity(
    config: ModelConfig, batch: int, context: int, bytes_per_number: int = 2
) -> float:
    """FLOPs per byte of one decode step: B f / (W + B k).

    f are the useful FLOPs of a step of one sequence, W the bytes of all weights that take part in
    products, k the bytes of one sequence's K and V. Every sequence reads its own K and V; the
    weights are read once for all.

    Args:
        batch: sequences B.
        context: tokens of each, the new one included.
        bytes_per_number: of weights and cache.

    Source: L2 §4.3, §5.6.
    """
    raise NotImplementedError("Part 8.8 decode_intensity: see README.md §8.8")


def mla_core(config: MLAConfig, context: int, bytes_per_number: int = 2) -> tuple[int, int]:
    """The attention core of MLA with absorbed matrices: one new token, one sequence, one layer.

    FLOPs: each head carries its query into the latent space once, takes a dot product with latent
    and RoPE key of every position, sums the latents, and carries the sum out of the latent space
    once (Part 6). Softmax counts as 0.

    Args:
        context: tokens, the new one included.

    Returns:
        (FLOPs, bytes read from the cache).

    Source: L2 §6.4, §6.5, exercise 7.
    """
    raise NotImplementedError("Part 8.9 mla_core: see README.md §8.9")
