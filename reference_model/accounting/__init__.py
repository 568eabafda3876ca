"""What a model computes and moves, and the time that takes at least (L2 §4).

Conventions (L2 §4.1): a product (M, K) @ (K, N) takes 2MKN FLOPs; numbers have two bytes (BF16)
whatever numpy uses; the attention core counts as one fused kernel, whose scores are never written
to memory; `useful` FLOPs are those that the causal mask allows.
"""

from .attention_variants import CoreAccount, gqa_core, mla_absorbed_core, mla_expanded_core
from .counted_model import CountedModel, Counter
from .einsum import einsum_flops, layer_einsums
from .hardware import (
    A100,
    DEEPSEEK_V3_ATTENTION,
    H100,
    H200,
    LLAMA2_7B,
    LLAMA31_8B,
    LLAMA31_70B,
    LLAMA31_405B,
    SMALL,
    Hardware,
    measure_this_cpu,
)
from .operations import GROUPS, analytic_ops, generation_flops, generation_passes
from .roofline import (
    attention_equals_matmuls,
    decode_intensity,
    decode_intensity_cap,
    decode_step_seconds,
    gqa_intensity,
    prefill_intensity,
    prefill_seconds,
    seconds,
    seconds_one_by_one,
)
from .work import Work, total

__all__ = [
    "A100",
    "DEEPSEEK_V3_ATTENTION",
    "GROUPS",
    "H100",
    "H200",
    "LLAMA2_7B",
    "LLAMA31_8B",
    "LLAMA31_70B",
    "LLAMA31_405B",
    "SMALL",
    "CoreAccount",
    "CountedModel",
    "Counter",
    "Hardware",
    "Work",
    "analytic_ops",
    "attention_equals_matmuls",
    "decode_intensity",
    "decode_intensity_cap",
    "decode_step_seconds",
    "einsum_flops",
    "generation_flops",
    "generation_passes",
    "gqa_core",
    "gqa_intensity",
    "layer_einsums",
    "measure_this_cpu",
    "mla_absorbed_core",
    "mla_expanded_core",
    "prefill_intensity",
    "prefill_seconds",
    "seconds",
    "seconds_one_by_one",
    "total",
]
