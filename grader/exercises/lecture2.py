"""The exercises of Lecture 2, by the reference's accounts."""

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

from . import mistakes as known
from .question import Mistake, NumericQuestion, Text

# --- exercise 1: parameters -----------------------------------------------------------------------

MODEL = ModelConfig("exercise 1", 64, 4096, 32, 32, 128, 16384, 32000)
# L = 64, d = 4000, f = 16000, V = 32000.
ROUNDED = 64 * (4 * 4_000**2 + 3 * 4_000 * 16_000) + 2 * 32_000 * 4_000
ATTENTION = MODEL.n_layers * 4 * MODEL.d_model**2
TABLE = MODEL.vocab_size * MODEL.d_model
# One of the three MLP matrices of every layer.
MLP_MATRIX = MODEL.n_layers * MODEL.d_model * MODEL.d_ff
N_PARAMS = MODEL.n_params()

TWO_MLP_MATRICES = Text(
    en="That is an MLP of two matrices; SwiGLU has three: gate, up and down (L2 §3.2).",
    zh="这是两个矩阵的 MLP；SwiGLU 有三个：gate、up、down（L2 §3.2）。",
)
ONE_TABLE = Text(
    en="The embedding table and lm_head are two matrices here: they are not shared.",
    zh="这里词嵌入表和 lm_head 是两个矩阵：不共享。",
)
NO_TABLE = Text(
    en="The embedding table and lm_head are missing.",
    zh="漏了词嵌入表和 lm_head。",
)
ROUNDED_SIZES = Text(
    en="That is with sizes rounded to thousands, as in the book; take those of the exercise.",
    zh="这是像书里那样把尺寸取成整千算的；请用题目给的尺寸。",
)

PARAMETERS = (
    NumericQuestion(
        "l2_1_parameters",
        "parameters",
        N_PARAMS,
        "17.44 B",
        mistakes=(
            Mistake(N_PARAMS - MLP_MATRIX, TWO_MLP_MATRICES),
            Mistake(N_PARAMS - TABLE, ONE_TABLE),
            Mistake(N_PARAMS - 2 * TABLE, NO_TABLE),
            Mistake(ROUNDED, ROUNDED_SIZES),
        ),
    ),
    NumericQuestion(
        "l2_1_attention_share",
        "share",
        ATTENTION / N_PARAMS,
        "24.6%",
        mistakes=(
            Mistake(ATTENTION / (N_PARAMS - 2 * TABLE), NO_TABLE),
            Mistake(ATTENTION / (N_PARAMS - TABLE), ONE_TABLE),
            Mistake(ATTENTION / (N_PARAMS - MLP_MATRIX), TWO_MLP_MATRICES),
            Mistake(
                ATTENTION / 4 / N_PARAMS,
                Text(
                    en="That is one of the four matrices; q, k, v and o all belong to attention.",
                    zh="这只是四个矩阵之一；q、k、v、o 都属于注意力。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_1_kv_bytes_per_token",
        "bytes",
        MODEL.kv_bytes_per_token(1),
        "512 KiB",
        mistakes=(
            Mistake(MODEL.kv_bytes_per_token(1) / 2, known.ONE_OF_K_AND_V),
            Mistake(MODEL.kv_bytes_per_token(2), known.TWO_BYTES),
            Mistake(MODEL.kv_bytes_per_token(1) / MODEL.n_layers, known.ONE_LAYER),
            Mistake(
                MODEL.kv_bytes_per_token(1) / MODEL.n_heads,
                Text(
                    en="That is one head; every key/value head has its own keys and values.",
                    zh="这只是一个头；每个 KV 头都有自己的 k 和 v。",
                ),
            ),
        ),
    ),
)

# --- exercise 2: word2vec -------------------------------------------------------------------------

SKIP_GRAM = {"window": 5, "dim": 300, "n_negative": 15}
NEGATIVE = training_cost("skip-gram, negative sampling", **SKIP_GRAM)
SOFTMAX = training_cost("skip-gram, full softmax", **SKIP_GRAM)
HIERARCHICAL = training_cost("skip-gram, hierarchical softmax", **SKIP_GRAM)

ONE_CONTEXT_WORD = Text(
    en="That is one context word; there are C of them for each word that is trained on.",
    zh="这只是一个上下文词；每个训练词有 C 个。",
)

COST_OF_TRAINING = (
    NumericQuestion(
        "l2_2_negative_sampling",
        "parameters",
        NEGATIVE,
        "25,500",
        exact=True,
        mistakes=(
            Mistake(
                5 * 300 * 16,
                Text(
                    en="D is missing once: either the vector of the center word itself, or that of "
                    "the true context word, which is scored beside the k negative ones.",
                    zh="少了一份 D：要么漏了中心词自己的向量，要么漏了真实的上下文词"
                    "（它和 k 个负样本一起打分）。",
                ),
            ),
            Mistake(
                300 + 5 * 300 * 16,
                Text(
                    en="That counts the center word's vector once. Each of the C context words is "
                    "a prediction of its own, and touches it again.",
                    zh="这里中心词的向量只算了一次。C 个上下文词各是一次单独的预测，"
                    "每次都要用到它。",
                ),
            ),
            Mistake(NEGATIVE / 5, ONE_CONTEXT_WORD),
            Mistake(
                HIERARCHICAL,
                Text(
                    en="That is hierarchical softmax, with log2 V in place of k + 1.",
                    zh="这是层次 softmax：用的是 log2 V，而不是 k + 1。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_2_full_softmax",
        "parameters",
        SOFTMAX,
        "1.5 × 10⁹",
        digits=2,
        mistakes=(
            Mistake(SOFTMAX / 5, ONE_CONTEXT_WORD),
            Mistake(
                5 * 1_000_000,
                Text(
                    en="That is how many words are scored; each has a vector of D numbers.",
                    zh="这是打分的词数；每个词有一个 D 维的向量。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_2_ratio",
        "times",
        SOFTMAX / NEGATIVE,
        "6 万倍",
        digits=1,
        mistakes=(
            Mistake(NEGATIVE / SOFTMAX, known.UPSIDE_DOWN),
            Mistake(
                1_000_000 / 15,
                Text(
                    en="That is V / k; each side has further terms: compare the two Q.",
                    zh="这是 V / k；两边都还有别的项：请比较两个 Q。",
                ),
            ),
        ),
    ),
)

# --- exercise 3: einsum ---------------------------------------------------------------------------

CONTRACTION = einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8))

EINSUM = (
    NumericQuestion(
        "l2_3_einsum_flops",
        "FLOP",
        CONTRACTION,
        "80,640 FLOP",
        exact=True,
        mistakes=(
            Mistake(CONTRACTION / 2, known.WITHOUT_MULTIPLY_ADD),
            Mistake(
                CONTRACTION * 2 * 3,
                Text(
                    en="I and J are in both operands and count once (L2 §3.5).",
                    zh="I、J 在两个输入里都出现，只算一次（L2 §3.5）。",
                ),
            ),
            Mistake(
                CONTRACTION / (2 * 3),
                Text(
                    en="The summed axes I and J are missing: they take work although they are not "
                    "in the result.",
                    zh="漏了被求和的 I、J：它们不在结果里，但同样要算。",
                ),
            ),
            Mistake(
                CONTRACTION / (2 * 2 * 3),
                Text(
                    en="That is the size of the result.",
                    zh="这是结果的元素个数。",
                ),
            ),
        ),
    ),
)

# --- exercise 4: intensity ------------------------------------------------------------------------

GROUP_SIZE = LLAMA31_70B.n_heads // LLAMA31_70B.n_kv_heads


def _intensity(context: int, printed: str) -> NumericQuestion:
    value = gqa_intensity(GROUP_SIZE, context)
    found = [
        Mistake(
            gqa_intensity(LLAMA31_70B.n_heads, context),
            Text(
                en="That is with all 64 query heads for R; a group is those that share a key head.",
                zh="这里把全部 64 个 query 头当成了 R；一组只是共用同一个 KV 头的那些。",
            ),
        ),
        Mistake(
            1 / value,
            Text(
                en="That is bytes per FLOP; intensity is the other way round.",
                zh="这是每 FLOP 的字节数；强度是反过来的。",
            ),
        ),
    ]
    if value < 0.999 * GROUP_SIZE:
        limit = Text(
            en="That is the limit for a long context; here S is finite.",
            zh="这是上下文很长时的极限；这里的 S 是有限的。",
        )
        found.append(Mistake(GROUP_SIZE, limit))
    return NumericQuestion(
        f"l2_4_intensity_{context}", "FLOP per byte", value, printed, mistakes=tuple(found)
    )


INTENSITY = (
    _intensity(128, "7.53"),
    _intensity(1024, "7.94"),
    _intensity(32768, "8.00"),
)

# --- exercise 5: the cache of long contexts -------------------------------------------------------

CONTEXT, SEQUENCES = 128 * 1024, 4
WEIGHTS_FP8 = 70.6e9


def _cache(bytes_per_number: int) -> int:
    return SEQUENCES * CONTEXT * LLAMA31_70B.kv_bytes_per_token(bytes_per_number)


def _mistakes_of_cache(value: float, *of_format: Mistake) -> tuple[Mistake, ...]:
    return (
        *of_format,
        Mistake(value / SEQUENCES, known.ONE_SEQUENCE),
        Mistake(value * GROUP_SIZE, known.QUERY_HEADS),
        Mistake(value / LLAMA31_70B.n_layers, known.ONE_LAYER),
        Mistake(value * 128_000 / CONTEXT, known.DECIMAL_128K),
    )


KV_CAPACITY = (
    NumericQuestion(
        "l2_5_kv_fp8",
        "bytes",
        _cache(1),
        "85.9 GB",
        mistakes=_mistakes_of_cache(
            _cache(1),
            Mistake(_cache(2), known.TWO_BYTES),
            Mistake(_cache(1) / 2, known.ONE_OF_K_AND_V),
        ),
    ),
    NumericQuestion(
        "l2_5_kv_bf16",
        "bytes",
        _cache(2),
        "171.8 GB",
        mistakes=_mistakes_of_cache(_cache(2), Mistake(_cache(1), known.HALF_IN_BF16)),
    ),
    NumericQuestion(
        "l2_5_against_weights",
        "times",
        _cache(1) / WEIGHTS_FP8,
        "1.22",
        digits=2,
        mistakes=(
            Mistake(WEIGHTS_FP8 / _cache(1), known.UPSIDE_DOWN),
            Mistake(_cache(2) / WEIGHTS_FP8, known.TWO_BYTES),
            Mistake(
                _cache(1) / 2**30 / 70.6,
                Text(
                    en="GiB were divided by GB.",
                    zh="这里用 GiB 除以了 GB。",
                ),
            ),
        ),
    ),
)

# --- exercise 6: what a cache saves ---------------------------------------------------------------

PROMPT, NEW = 2000, 2000
CACHED = generation_flops(LLAMA31_8B, PROMPT, NEW, cached=True)
UNCACHED = generation_flops(LLAMA31_8B, PROMPT, NEW, cached=False)


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


def _mistakes_of_generation(cached: bool, value: float) -> tuple[Mistake, ...]:
    n_matmul, n_all = LLAMA31_8B.matmul_params(), LLAMA31_8B.n_params()
    matrices = _matrices_only(cached, n_matmul)
    # With the cache, all parameters and no attention core give 64.2 TFLOP too: the two mistakes
    # cancel to 2 in 10,000, and no answer of three digits can tell.
    both = [] if cached else [Mistake(_matrices_only(cached, n_all), known.WITHOUT_ATTENTION_CORE)]
    return (
        Mistake(matrices, known.WITHOUT_ATTENTION_CORE),
        *both,
        Mistake(value - matrices + _matrices_only(cached, n_all), known.ALL_PARAMETERS),
        Mistake(_generation(cached, last_only=True), known.LAST_LOGITS_ONLY),
        Mistake(_generation(cached, useful=False), known.MASKED_SCORES_TOO),
        Mistake(value / 2, known.WITHOUT_MULTIPLY_ADD),
    )


PREFILL = total(analytic_ops(LLAMA31_8B, 1, PROMPT, 0).values()).useful_flops

GENERATION = (
    NumericQuestion(
        "l2_6_with_cache",
        "FLOP",
        CACHED,
        "64.2 TFLOP",
        mistakes=(
            *_mistakes_of_generation(True, CACHED),
            Mistake(
                CACHED - PREFILL,
                Text(
                    en="The prefill is missing: the prompt has to go through the model too.",
                    zh="漏了 prefill：提示也要过一遍模型。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_6_without_cache",
        "FLOP",
        UNCACHED,
        "94.9 PFLOP",
        mistakes=(
            *_mistakes_of_generation(False, UNCACHED),
            Mistake(
                NEW * PREFILL,
                Text(
                    en="The sequence grows by a token with every pass; this takes 2000 tokens each "
                    "time.",
                    zh="每一步序列都长一个 token；这里每次都按 2000 个算了。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_6_ratio",
        "times",
        UNCACHED / CACHED,
        "1,480 倍",
        mistakes=(
            Mistake(CACHED / UNCACHED, known.UPSIDE_DOWN),
            Mistake(
                _matrices_only(False, 1) / _matrices_only(True, 1), known.WITHOUT_ATTENTION_CORE
            ),
            Mistake(
                _generation(False, last_only=True) / _generation(True, last_only=True),
                known.LAST_LOGITS_ONLY,
            ),
        ),
    ),
)

# --- exercise 7: MLA ------------------------------------------------------------------------------

MLA = DEEPSEEK_V3_ATTENTION
CACHED_NUMBERS = MLA.latent_dim + MLA.rope_dim  # of a token, in each layer
MLA_BF16, MLA_FP8 = MLA.kv_bytes_per_token(2), MLA.kv_bytes_per_token(1)
# 128 heads of 128: the nope part's width, without the RoPE part.
MHA = ModelConfig("its MHA", MLA.n_layers, MLA.d_model, MLA.n_heads, MLA.n_heads, MLA.v_dim, 1, 1)
MHA_BF16 = MHA.kv_bytes_per_token(2)
# Keys of 128 + 64 and values of 128, as the definition of MLA would have to cache them (L2 §6.4).
WIDE_MHA_BF16 = MLA.n_layers * MLA.n_heads * (MLA.nope_dim + MLA.rope_dim + MLA.v_dim) * 2

NO_ROPE_KEY = Text(
    en="The RoPE key is missing: its d_R numbers are cached beside the latent (L2 §6.4).",
    zh="漏了带 RoPE 的 key：它的 d_R 个数和潜在向量一起缓存（L2 §6.4）。",
)
LATENT_TWICE = Text(
    en="The latent counts once: keys and values are both made from it.",
    zh="潜在向量只算一份：k 和 v 都由它得到。",
)
LATENT_PER_HEAD = Text(
    en="Latent and RoPE key are shared by all heads.",
    zh="潜在向量和带 RoPE 的 key 由所有头共用。",
)
WIDE_KEYS = Text(
    en="That is with keys of 128 + 64, as in L2 §6.4; here the heads have 128.",
    zh="这是像 L2 §6.4 那样按 128 + 64 宽的 key 算的；这里每个头是 128。",
)


def _mistakes_of_latent(value: int, other_format: Mistake) -> tuple[Mistake, ...]:
    return (
        other_format,
        Mistake(value * MLA.latent_dim / CACHED_NUMBERS, NO_ROPE_KEY),
        Mistake(value * (CACHED_NUMBERS + MLA.latent_dim) / CACHED_NUMBERS, LATENT_TWICE),
        Mistake(value * MLA.n_heads, LATENT_PER_HEAD),
        Mistake(value / MLA.n_layers, known.ONE_LAYER),
    )


LATENT_CACHE = (
    NumericQuestion(
        "l2_7_mla_bf16",
        "bytes",
        MLA_BF16,
        "68.6 KiB",
        mistakes=(
            *_mistakes_of_latent(MLA_BF16, Mistake(MLA_FP8, known.ONE_BYTE)),
            Mistake(2 * MLA_BF16, LATENT_TWICE),
        ),
    ),
    NumericQuestion(
        "l2_7_mla_fp8",
        "bytes",
        MLA_FP8,
        "34.3 KiB",
        mistakes=_mistakes_of_latent(MLA_FP8, Mistake(MLA_BF16, known.TWO_BYTES)),
    ),
    NumericQuestion(
        "l2_7_mha_bf16",
        "bytes",
        MHA_BF16,
        "3.81 MiB",
        mistakes=(
            Mistake(MHA_BF16 / 2, known.ONE_OF_K_AND_V),
            Mistake(MHA_BF16 / MLA.n_layers, known.ONE_LAYER),
            Mistake(2 * MHA_BF16, known.FOUR_BYTES),
            Mistake(WIDE_MHA_BF16, WIDE_KEYS),
        ),
    ),
    NumericQuestion(
        "l2_7_ratio",
        "times",
        MHA_BF16 / MLA_BF16,
        "57 倍",
        digits=2,
        mistakes=(
            Mistake(MLA_BF16 / MHA_BF16, known.UPSIDE_DOWN),
            Mistake(WIDE_MHA_BF16 / MLA_BF16, WIDE_KEYS),
            Mistake(MHA_BF16 / (MLA_BF16 * MLA.latent_dim / CACHED_NUMBERS), NO_ROPE_KEY),
        ),
    ),
)

# --- exercise 10: what to fuse --------------------------------------------------------------------

ELEMENTWISE = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
SWIGLU, NORM = (ELEMENTWISE[name].activation_bytes for name in ("swiglu", "norm"))

FUSION = (
    NumericQuestion(
        "l2_10_swiglu_bytes",
        "bytes",
        SWIGLU,
        "5.64 GB",
        mistakes=(
            Mistake(
                SWIGLU * 2 / 3,
                Text(
                    en="Three arrays move: gate and up are read, their product is written.",
                    zh="要搬三个数组：读 gate 和 up，写它们的乘积。",
                ),
            ),
            Mistake(SWIGLU / LLAMA31_8B.n_layers, known.ONE_LAYERS_WORK),
            Mistake(2 * SWIGLU, known.FOUR_BYTES),
            Mistake(
                SWIGLU * LLAMA31_8B.d_model / LLAMA31_8B.d_ff,
                Text(
                    en="That is with d; the arrays of the MLP are d_ff wide.",
                    zh="这是按 d 算的；MLP 的中间数组宽 d_ff。",
                ),
            ),
        ),
    ),
    NumericQuestion(
        "l2_10_norm_bytes",
        "bytes",
        NORM,
        "2.15 GB",
        mistakes=(
            Mistake(
                NORM / 2,
                Text(
                    en="Each norm reads x and writes the result, and a layer has two of them.",
                    zh="每次归一化读 x、写结果，而且一层有两次。",
                ),
            ),
            Mistake(NORM / LLAMA31_8B.n_layers, known.ONE_LAYERS_WORK),
            Mistake(2 * NORM, known.FOUR_BYTES),
        ),
    ),
)

QUESTIONS = (
    *PARAMETERS,
    *COST_OF_TRAINING,
    *EINSUM,
    *INTENSITY,
    *KV_CAPACITY,
    *GENERATION,
    *LATENT_CACHE,
    *FUSION,
)
