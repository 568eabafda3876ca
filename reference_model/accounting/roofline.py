"""Times that no implementation can beat: the larger of arithmetic and traffic (L2 §4.5, §5.6)."""

from __future__ import annotations

from collections.abc import Mapping

from reference_model.config import ModelConfig

from .hardware import Hardware
from .operations import analytic_ops
from .work import Work, total


def seconds(work: Work, hardware: Hardware) -> float:
    """The roofline of one operation, or of many that overlap perfectly."""
    return max(work.useful_flops / hardware.flops, work.bytes / hardware.bandwidth)


def seconds_one_by_one(ops: Mapping[str, Work], hardware: Hardware) -> float:
    """One roofline per operation, one after another: what unfused kernels reach (L2 §4.5)."""
    return sum(seconds(work, hardware) for work in ops.values())


def prefill_seconds(config: ModelConfig, tokens: int, hardware: Hardware, batch: int = 1) -> float:
    """One roofline for the whole prefill, without activations and with lm_head for every token.

    These are the simplifications of L2 §4.3 and §4.5 ("lecture 1's prefill_time").
    """
    return seconds(_prefill(config, tokens, batch), hardware)


def prefill_intensity(config: ModelConfig, tokens: int, batch: int = 1) -> float:
    """FLOPs per byte of weights and KV of a whole prefill (L2 §4.5)."""
    return _prefill(config, tokens, batch).intensity


def decode_intensity(
    config: ModelConfig, batch: int, context: int, bytes_per_number: int = 2
) -> float:
    """B f / (W + B k) of a decode step: FLOPs per byte of weights and KV (L2 §5.6)."""
    return _without_activations(_decode_step(config, batch, context, bytes_per_number)).intensity


def decode_intensity_cap(config: ModelConfig, context: int) -> float:
    """f / k, which no batch exceeds: every sequence reads its own KV (L2 §5.6)."""
    step = _decode_step(config, 1, context)
    return step.useful_flops / step.kv_bytes


def decode_step_seconds(config: ModelConfig, batch: int, context: int, hardware: Hardware) -> float:
    """The least time of a decode step; `context` includes the new token (L2 §4.3, §5.6)."""
    return seconds(_without_activations(_decode_step(config, batch, context)), hardware)


def gqa_intensity(group_size: int, context: int) -> float:
    """S R / (R + S): the core of a decode step, queries and outputs counted (L2 exercise 4)."""
    return context * group_size / (group_size + context)


def attention_equals_matmuls(config: ModelConfig) -> float:
    """The context at which the attention core takes as many FLOPs as all matrices (L2 §4.4)."""
    core_per_token = 4 * config.n_layers * config.n_heads * config.head_dim
    return 2 * config.matmul_params() / core_per_token


def _prefill(config: ModelConfig, tokens: int, batch: int) -> Work:
    return _without_activations(total(analytic_ops(config, batch, tokens, 0).values()))


def _decode_step(config: ModelConfig, batch: int, context: int, bytes_per_number: int = 2) -> Work:
    ops = analytic_ops(config, batch, 1, context - 1, bytes_per_number=bytes_per_number)
    return total(ops.values())


def _without_activations(work: Work) -> Work:
    return Work(work.flops, work.useful_flops, work.weight_bytes, 0, work.kv_bytes)
