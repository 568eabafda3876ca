"""The exercises of Lecture 2: their values, by the reference's accounts."""

from __future__ import annotations

from functools import cache

from reference_model.accounting import (
    DEEPSEEK_V3_ATTENTION,
    LLAMA31_8B,
    LLAMA31_70B,
    analytic_ops,
    einsum_flops,
    generation_flops,
    generation_passes,
    gqa_intensity,
    total,
)
from reference_model.config import ModelConfig
from reference_model.word2vec.cost import training_cost

from .question import Values

# --- exercise 1: parameters -----------------------------------------------------------------------

MODEL = ModelConfig("exercise 1", 64, 4096, 32, 32, 128, 16384, 32000)
# L = 64, d = 4000, f = 16000, V = 32000.
ROUNDED = 64 * (4 * 4_000**2 + 3 * 4_000 * 16_000) + 2 * 32_000 * 4_000
ATTENTION = MODEL.n_layers * 4 * MODEL.d_model**2
TABLE = MODEL.vocab_size * MODEL.d_model
# One of the three MLP matrices of every layer.
MLP_MATRIX = MODEL.n_layers * MODEL.d_model * MODEL.d_ff
N_PARAMS = MODEL.n_params()
KV_BYTES = MODEL.kv_bytes_per_token(1)

PARAMETERS = {
    "l2_1_parameters": Values(
        N_PARAMS,
        [
            ("two_mlp_matrices", N_PARAMS - MLP_MATRIX),
            ("one_table", N_PARAMS - TABLE),
            ("no_table", N_PARAMS - 2 * TABLE),
            ("rounded_sizes", ROUNDED),
        ],
    ),
    "l2_1_attention_share": Values(
        ATTENTION / N_PARAMS,
        [
            ("no_table", ATTENTION / (N_PARAMS - 2 * TABLE)),
            ("one_table", ATTENTION / (N_PARAMS - TABLE)),
            ("two_mlp_matrices", ATTENTION / (N_PARAMS - MLP_MATRIX)),
            ("one_of_four_matrices", ATTENTION / 4 / N_PARAMS),
        ],
    ),
    "l2_1_kv_bytes_per_token": Values(
        KV_BYTES,
        [
            ("one_of_k_and_v", KV_BYTES / 2),
            ("two_bytes", MODEL.kv_bytes_per_token(2)),
            ("one_layer", KV_BYTES / MODEL.n_layers),
            ("one_head_of_the_cache", KV_BYTES / MODEL.n_heads),
        ],
    ),
}

# --- exercise 2: word2vec -------------------------------------------------------------------------

SKIP_GRAM = {"window": 5, "dim": 300, "n_negative": 15}
NEGATIVE = training_cost("skip-gram, negative sampling", **SKIP_GRAM)
SOFTMAX = training_cost("skip-gram, full softmax", **SKIP_GRAM)
HIERARCHICAL = training_cost("skip-gram, hierarchical softmax", **SKIP_GRAM)

COST_OF_TRAINING = {
    "l2_2_negative_sampling": Values(
        NEGATIVE,
        [
            ("one_vector_missing", 5 * 300 * 16),
            ("center_word_counted_once", 300 + 5 * 300 * 16),
            ("one_context_word", NEGATIVE / 5),
            ("hierarchical_softmax", HIERARCHICAL),
        ],
    ),
    "l2_2_full_softmax": Values(
        SOFTMAX, [("one_context_word", SOFTMAX / 5), ("number_of_words", 5 * 1_000_000)]
    ),
    "l2_2_ratio": Values(
        SOFTMAX / NEGATIVE, [("upside_down", NEGATIVE / SOFTMAX), ("v_over_k", 1_000_000 / 15)]
    ),
}

# --- exercise 3: einsum ---------------------------------------------------------------------------

CONTRACTION = einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8))

EINSUM = {
    "l2_3_einsum_flops": Values(
        CONTRACTION,
        [
            ("without_multiply_add", CONTRACTION / 2),
            ("shared_axes_twice", CONTRACTION * 2 * 3),
            ("summed_axes_missing", CONTRACTION / (2 * 3)),
            ("size_of_the_result", CONTRACTION / (2 * 2 * 3)),
        ],
    ),
}

# --- exercise 4: intensity ------------------------------------------------------------------------

GROUP_SIZE = LLAMA31_70B.n_heads // LLAMA31_70B.n_kv_heads


def _intensity(context: int) -> Values:
    true = gqa_intensity(GROUP_SIZE, context)
    mistakes = [
        ("all_query_heads", gqa_intensity(LLAMA31_70B.n_heads, context)),
        ("bytes_per_flop", 1 / true),
    ]
    if true < 0.999 * GROUP_SIZE:
        mistakes.append(("limit_of_a_long_context", GROUP_SIZE))
    return Values(true, mistakes)


INTENSITY = {f"l2_4_intensity_{context}": _intensity(context) for context in (128, 1024, 32768)}

# --- exercise 5: the cache of long contexts -------------------------------------------------------

CONTEXT, SEQUENCES = 128 * 1024, 4
WEIGHTS_FP8 = 70.6e9
KV_FP8, KV_BF16 = (SEQUENCES * CONTEXT * LLAMA31_70B.kv_bytes_per_token(n) for n in (1, 2))


def _mistakes_of_cache(true: float) -> list[tuple[str, float]]:
    return [
        ("one_sequence", true / SEQUENCES),
        ("query_heads", true * GROUP_SIZE),
        ("one_layer", true / LLAMA31_70B.n_layers),
        ("decimal_128k", true * 128_000 / CONTEXT),
    ]


KV_CAPACITY = {
    "l2_5_kv_fp8": Values(
        KV_FP8,
        [("two_bytes", KV_BF16), ("one_of_k_and_v", KV_FP8 / 2), *_mistakes_of_cache(KV_FP8)],
    ),
    "l2_5_kv_bf16": Values(KV_BF16, [("half_in_bf16", KV_FP8), *_mistakes_of_cache(KV_BF16)]),
    "l2_5_against_weights": Values(
        KV_FP8 / WEIGHTS_FP8,
        [
            ("upside_down", WEIGHTS_FP8 / KV_FP8),
            ("two_bytes", KV_BF16 / WEIGHTS_FP8),
            ("gib_by_gb", KV_FP8 / 2**30 / 70.6),
        ],
    ),
}

# --- exercise 6: what a cache saves ---------------------------------------------------------------

PROMPT, NEW = 2000, 2000
CACHED = generation_flops(LLAMA31_8B, PROMPT, NEW, cached=True)
UNCACHED = generation_flops(LLAMA31_8B, PROMPT, NEW, cached=False)
PREFILL = total(analytic_ops(LLAMA31_8B, 1, PROMPT, 0).values()).useful_flops


@cache
def _generation(cached: bool, last_only: bool = False, useful: bool = True) -> int:
    """As generation_flops, with other conventions."""
    works = [
        total(analytic_ops(LLAMA31_8B, 1, new, past, last_only).values())
        for new, past in generation_passes(PROMPT, NEW, cached)
    ]
    return sum(work.useful_flops if useful else work.flops for work in works)


def _matrices_only(cached: bool, n_params: int) -> int:
    return 2 * n_params * sum(new for new, _ in generation_passes(PROMPT, NEW, cached))


def _mistakes_of_generation(cached: bool, true: float) -> list[tuple[str, float]]:
    matrices = _matrices_only(cached, LLAMA31_8B.matmul_params())
    all_matrices = _matrices_only(cached, LLAMA31_8B.n_params())
    # With the cache, all parameters and no attention core give 64.2 TFLOP too: the two mistakes
    # cancel to 2 in 10,000, and no answer of three digits can tell.
    both = [] if cached else [("without_attention_core", all_matrices)]
    return [
        ("without_attention_core", matrices),
        *both,
        ("all_parameters", true - matrices + all_matrices),
        ("last_logits_only", _generation(cached, last_only=True)),
        ("masked_scores_too", _generation(cached, useful=False)),
        ("without_multiply_add", true / 2),
    ]


GENERATION = {
    "l2_6_with_cache": Values(
        CACHED, [*_mistakes_of_generation(True, CACHED), ("prefill_missing", CACHED - PREFILL)]
    ),
    "l2_6_without_cache": Values(
        UNCACHED,
        [*_mistakes_of_generation(False, UNCACHED), ("sequence_does_not_grow", NEW * PREFILL)],
    ),
    "l2_6_ratio": Values(
        UNCACHED / CACHED,
        [
            ("upside_down", CACHED / UNCACHED),
            ("without_attention_core", _matrices_only(False, 1) / _matrices_only(True, 1)),
            (
                "last_logits_only",
                _generation(False, last_only=True) / _generation(True, last_only=True),
            ),
        ],
    ),
}

# --- exercise 7: MLA ------------------------------------------------------------------------------

MLA = DEEPSEEK_V3_ATTENTION
CACHED_NUMBERS = MLA.latent_dim + MLA.rope_dim  # of a token, in each layer
MLA_BF16, MLA_FP8 = MLA.kv_bytes_per_token(2), MLA.kv_bytes_per_token(1)
# 128 heads of 128: the nope part's width, without the RoPE part.
MHA = ModelConfig("its MHA", MLA.n_layers, MLA.d_model, MLA.n_heads, MLA.n_heads, MLA.v_dim, 1, 1)
MHA_BF16 = MHA.kv_bytes_per_token(2)
# Keys of 128 + 64 and values of 128, as the definition of MLA would have to cache them (L2 §6.4).
WIDE_MHA_BF16 = MLA.n_layers * MLA.n_heads * (MLA.nope_dim + MLA.rope_dim + MLA.v_dim) * 2


def _mistakes_of_latent(true: int) -> list[tuple[str, float]]:
    return [
        ("no_rope_key", true * MLA.latent_dim / CACHED_NUMBERS),
        ("latent_twice", true * (CACHED_NUMBERS + MLA.latent_dim) / CACHED_NUMBERS),
        ("latent_per_head", true * MLA.n_heads),
        ("one_layer", true / MLA.n_layers),
    ]


LATENT_CACHE = {
    "l2_7_mla_bf16": Values(
        MLA_BF16,
        [("one_byte", MLA_FP8), *_mistakes_of_latent(MLA_BF16), ("latent_twice", 2 * MLA_BF16)],
    ),
    "l2_7_mla_fp8": Values(MLA_FP8, [("two_bytes", MLA_BF16), *_mistakes_of_latent(MLA_FP8)]),
    "l2_7_mha_bf16": Values(
        MHA_BF16,
        [
            ("one_of_k_and_v", MHA_BF16 / 2),
            ("one_layer", MHA_BF16 / MLA.n_layers),
            ("four_bytes", 2 * MHA_BF16),
            ("wide_keys", WIDE_MHA_BF16),
        ],
    ),
    "l2_7_ratio": Values(
        MHA_BF16 / MLA_BF16,
        [
            ("upside_down", MLA_BF16 / MHA_BF16),
            ("wide_keys", WIDE_MHA_BF16 / MLA_BF16),
            ("no_rope_key", MHA_BF16 / (MLA_BF16 * MLA.latent_dim / CACHED_NUMBERS)),
        ],
    ),
}

# --- exercise 10: what to fuse --------------------------------------------------------------------

ELEMENTWISE = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
SWIGLU, NORM = (ELEMENTWISE[name].activation_bytes for name in ("swiglu", "norm"))

FUSION = {
    "l2_10_swiglu_bytes": Values(
        SWIGLU,
        [
            ("two_of_three_arrays", SWIGLU * 2 / 3),
            ("one_layers_work", SWIGLU / LLAMA31_8B.n_layers),
            ("four_bytes", 2 * SWIGLU),
            ("width_of_the_model", SWIGLU * LLAMA31_8B.d_model / LLAMA31_8B.d_ff),
        ],
    ),
    "l2_10_norm_bytes": Values(
        NORM,
        [
            ("half_of_the_norms", NORM / 2),
            ("one_layers_work", NORM / LLAMA31_8B.n_layers),
            ("four_bytes", 2 * NORM),
        ],
    ),
}

VALUES = (
    PARAMETERS
    | COST_OF_TRAINING
    | EINSUM
    | INTENSITY
    | KV_CAPACITY
    | GENERATION
    | LATENT_CACHE
    | FUSION
)
