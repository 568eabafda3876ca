# Generated from solution/exercises.py by `make assignment`; a change belongs there.
"""Part 11: the exercises of both lectures with a number for an answer, one function each.

A function returns its answer as a text with a unit, such as "1.50 GiB" or f"{n_bytes} B": written
down or computed, as you like. README.md §11 says how answers are read. Your own functions of
accounting.py may be used: from .accounting import kv_bytes_per_token
"""

from __future__ import annotations

import math


def l2_1_parameters() -> str:
    """How many parameters has this model?

    Multi-head attention, L = 64 layers, d = 4096, 32 heads with d_h = 128, SwiGLU MLPs (three
    matrices) with f = 16384, V = 32000, lm_head not shared with the embedding table. Whether you
    count the norms does not matter.

    Unit: parameters (B is a billion); 3 digits. Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.1 l2_1_parameters: see README.md §11.1")


def l2_1_attention_share() -> str:
    """Which share of all parameters of that model do the attention matrices have?

    Unit: %, or a fraction of 1; 3 digits. Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.2 l2_1_attention_share: see README.md §11.2")


def l2_1_kv_bytes_per_token() -> str:
    """How large is that model's KV cache for one token, stored as int8?

    Unit: bytes (B, KB, KiB, ...); 3 digits. Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.3 l2_1_kv_bytes_per_token: see README.md §11.3")


def l2_2_negative_sampling() -> str:
    """What does a training word cost in skip-gram with negative sampling: Q of L2 §1.3?

    Q counts the parameters that are touched, by one prediction for each of the C context words,
    vector of the center included. Context distance C = 5, D = 300 dimensions, k = 15 negative words
    for each true one.

    Unit: parameters; exact. Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.4 l2_2_negative_sampling: see README.md §11.4")


def l2_2_full_softmax() -> str:
    """And with the full softmax over V = 1,000,000 words in place of negative sampling?

    Unit: parameters; 2 digits. Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.5 l2_2_full_softmax: see README.md §11.5")


def l2_2_ratio() -> str:
    """How many times as large is the Q of the full softmax as that of negative sampling?

    Unit: times; 1 digit. Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.6 l2_2_ratio: see README.md §11.6")


def l2_3_einsum_flops() -> str:
    """How many FLOPs does A[I, J, K, L] · B[I, J, M, N, O] -> C[K, L, M, N, O] take?

    With (I, J, K, L, M, N, O) = (2, 3, 4, 5, 6, 7, 8).

    Unit: FLOP; exact. Source: L2 exercise 3 and §3.5.
    """
    raise NotImplementedError("Part 11.7 l2_3_einsum_flops: see README.md §11.7")


def l2_4_intensity_128() -> str:
    """Which intensity has Llama-3.1-70B's attention core in decode, with a context of S = 128?

    It is S·R / (R + S), R being the size of a group: 64 query heads share 8 key/value heads.

    Unit: FLOP/byte; 3 digits. Source: L2 exercise 4.
    """
    raise NotImplementedError("Part 11.8 l2_4_intensity_128: see README.md §11.8")


def l2_4_intensity_1024() -> str:
    """The same with S = 1024.

    Unit: FLOP/byte; 3 digits. Source: L2 exercise 4.
    """
    raise NotImplementedError("Part 11.9 l2_4_intensity_1024: see README.md §11.9")


def l2_4_intensity_32768() -> str:
    """The same with S = 32768.

    Unit: FLOP/byte; 3 digits. Source: L2 exercise 4.
    """
    raise NotImplementedError("Part 11.10 l2_4_intensity_32768: see README.md §11.10")


def l2_5_kv_fp8() -> str:
    """How large is the KV cache of 4 sequences of 128K tokens in Llama-3.1-70B, stored as FP8?

    80 layers, 64 query heads, 8 key/value heads, d_h = 128; 128K = 131,072.

    Unit: bytes (GB, GiB, ...); 3 digits. Source: L2 exercise 5.
    """
    raise NotImplementedError("Part 11.11 l2_5_kv_fp8: see README.md §11.11")


def l2_5_kv_bf16() -> str:
    """And in BF16?

    Unit: bytes (GB, GiB, ...); 3 digits. Source: L2 exercise 5.
    """
    raise NotImplementedError("Part 11.12 l2_5_kv_bf16: see README.md §11.12")


def l2_5_against_weights() -> str:
    """How many times as large is that cache in FP8 as the weights in FP8 (70.6 GB)?

    Unit: times; 2 digits. Source: L2 exercise 5.
    """
    raise NotImplementedError("Part 11.13 l2_5_against_weights: see README.md §11.13")


def l2_6_with_cache() -> str:
    """How many FLOPs does Llama-3.1-8B take for 2000 tokens of prompt and 2000 new ones, cached?

    32 layers, d = 4096, 32 query heads, 8 key/value heads, d_h = 128, f = 14336, V = 128256. The
    prefill gives the first new token and 1999 decode steps the others. Count 2 for each
    matrix parameter and token (lm_head for every token that goes through; the embedding table is
    looked up), and the attention scores and sums that the causal mask allows.

    Unit: FLOP (TFLOP, PFLOP, ...); 3 digits. Source: L2 exercise 6, §4 and §5.4.
    """
    raise NotImplementedError("Part 11.14 l2_6_with_cache: see README.md §11.14")


def l2_6_without_cache() -> str:
    """And without a cache: a whole forward pass over all of the text so far for each new token?

    Unit: FLOP (TFLOP, PFLOP, ...); 3 digits. Source: L2 exercise 6, §5.1.
    """
    raise NotImplementedError("Part 11.15 l2_6_without_cache: see README.md §11.15")


def l2_6_ratio() -> str:
    """How many times as many FLOPs does it take without the cache as with it?

    Unit: times; 3 digits. Source: L2 exercise 6.
    """
    raise NotImplementedError("Part 11.16 l2_6_ratio: see README.md §11.16")


def l2_7_mla_bf16() -> str:
    """How large is DeepSeek-V3's KV cache for one token, in BF16?

    61 layers of latent attention, d_c = 512, d_R = 64.

    Unit: bytes (KB, KiB, ...); 3 digits. Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.17 l2_7_mla_bf16: see README.md §11.17")


def l2_7_mla_fp8() -> str:
    """And in FP8?

    Unit: bytes (KB, KiB, ...); 3 digits. Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.18 l2_7_mla_fp8: see README.md §11.18")


def l2_7_mha_bf16() -> str:
    """And in BF16, if the same 61 layers had multi-head attention with 128 heads of d_h = 128?

    Unit: bytes (MB, MiB, ...); 3 digits. Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.19 l2_7_mha_bf16: see README.md §11.19")


def l2_7_ratio() -> str:
    """How many times as large is that MHA cache as the MLA cache, both in BF16?

    Unit: times; 2 digits. Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.20 l2_7_ratio: see README.md §11.20")


def l2_10_swiglu_bytes() -> str:
    """How many bytes does the elementwise work of SwiGLU move in a prefill of Llama-3.1-8B?

    2048 tokens, BF16, 32 layers, f = 14336; run by itself it reads the results of the gate and up
    products and writes silu(gate) * up. All layers together.

    Unit: bytes (GB, ...); 3 digits. Source: L2 exercise 10.
    """
    raise NotImplementedError("Part 11.21 l2_10_swiglu_bytes: see README.md §11.21")


def l2_10_norm_bytes() -> str:
    """And how many do the two RMSNorms of each layer move, each reading x and writing the result?

    d = 4096.

    Unit: bytes (GB, ...); 3 digits. Source: L2 exercise 10.
    """
    raise NotImplementedError("Part 11.22 l2_10_norm_bytes: see README.md §11.22")


def d3_3_query_length() -> str:
    """How long is the q vector of one head in Llama-2-7B (d = 4096, 32 heads)?

    A plain number; exact. Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.23 d3_3_query_length: see README.md §11.23")


def d3_3_w_q_of_one_head() -> str:
    """How many rows and columns has W^q of one head?

    Rows and columns, as in "12 x 34", in the convention x @ w. Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.24 d3_3_w_q_of_one_head: see README.md §11.24")


def d3_3_w_q_of_the_layer() -> str:
    """How many rows and columns has W^q of the whole layer, all heads side by side?

    Rows and columns, as in "12 x 34", in the convention x @ w. Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.25 d3_3_w_q_of_the_layer: see README.md §11.25")


def d3_4_growth() -> str:
    """A sequence grows from 1000 to 4000 tokens: how many times as many entries has the matrix?

    The attention matrix, of a row for each query and a column for each key.

    Unit: times; exact. Source: D3 自测 4.
    """
    raise NotImplementedError("Part 11.26 d3_4_growth: see README.md §11.26")


def d3_7_first_of_the_output() -> str:
    """What is the first of the two numbers of token 3's attention output?

    k1 = [1, 0], k2 = [0, 1], k3 = [1, 0]; v1 = [2, 0], v2 = [0, 2], v3 = [4, 4]; q3 = [0, 2].
    Not scaled, with a causal mask. By hand, or in numpy.

    A plain number; 2 digits. Source: D3 自测 7.
    """
    raise NotImplementedError("Part 11.27 d3_7_first_of_the_output: see README.md §11.27")


def d3_7_second_of_the_output() -> str:
    """And the second?

    A plain number; 2 digits. Source: D3 自测 7.
    """
    raise NotImplementedError("Part 11.28 d3_7_second_of_the_output: see README.md §11.28")
