# Generated from solution/exercises.py by `make assignment`; a change belongs there.
"""Part 11: the exercises of both lectures, as far as a formula or a number answers them.

Most are functions of named sizes: the test calls them with the lecture's numbers, then with others.
A function returns its number without a unit (an int, a float, a numpy number or a Fraction) or a
shape as a tuple. Three exercises have a number for an answer and no arguments: README.md §11 says
how it is read. Your own functions of accounting.py may be used:
from .accounting import kv_bytes_per_token
"""

from __future__ import annotations

import math


def l2_1_parameters(*, n_layers: int, d_model: int, d_ff: int, vocab_size: int) -> float:
    """How many parameters has a model with multi-head attention?

    Its heads together are as wide as the model, H d_h = d. SwiGLU MLPs have three matrices, lm_head
    is not shared with the embedding table. Whether you count the norms does not matter.

    Example: n_layers=64, d_model=4096, d_ff=16384, vocab_size=32000 gives 17,442,013,184, or
    17,442,541,568 with the norms.

    Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.1 l2_1_parameters: see README.md §11.1")


def l2_1_attention_share(*, n_layers: int, d_model: int, d_ff: int, vocab_size: int) -> float:
    """Which share of all parameters of that model do the attention matrices have, from 0 to 1?

    Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.2 l2_1_attention_share: see README.md §11.2")


def l2_1_kv_bytes_per_token(
    *, n_layers: int, n_heads: int, head_dim: int, bytes_per_number: int
) -> float:
    """How many bytes has that model's KV cache for one token?

    Args:
        bytes_per_number: 1 for int8, 2 for BF16.

    Source: L2 exercise 1.
    """
    raise NotImplementedError("Part 11.3 l2_1_kv_bytes_per_token: see README.md §11.3")


def l2_2_negative_sampling(*, window: int, dim: int, n_negative: int) -> float:
    """What does a training word cost in skip-gram with negative sampling: Q of L2 §1.3?

    Q counts the parameters that are touched, by one prediction for each of the C context words,
    vector of the center included.

    Args:
        window: context words C.
        dim: D of each vector.
        n_negative: negative words k for each true one.

    Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.4 l2_2_negative_sampling: see README.md §11.4")


def l2_2_full_softmax(*, window: int, dim: int, vocab_size: int) -> float:
    """And with the full softmax over a vocabulary in place of negative sampling?

    Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.5 l2_2_full_softmax: see README.md §11.5")


def l2_2_ratio(*, window: int, dim: int, n_negative: int, vocab_size: int) -> float:
    """How many times as large is the Q of the full softmax as that of negative sampling?

    Source: L2 exercise 2.
    """
    raise NotImplementedError("Part 11.6 l2_2_ratio: see README.md §11.6")


def l2_3_einsum_flops() -> str:
    """How many FLOPs does A[I, J, K, L] · B[I, J, M, N, O] -> C[K, L, M, N, O] take?

    With (I, J, K, L, M, N, O) = (2, 3, 4, 5, 6, 7, 8). A number, FLOP; exact, to the last digit.

    Source: L2 exercise 3 and §3.5.
    """
    raise NotImplementedError("Part 11.7 l2_3_einsum_flops: see README.md §11.7")


def l2_4_intensity(*, n_heads: int, n_kv_heads: int, context: int) -> float:
    """How many FLOPs does the attention core of a decode step do for each byte it moves?

    In BF16, for one new token and `context` positions in all: scores and weighted sum on one side,
    on the other every query, key and value read once and every head's output written once.

    Source: L2 exercise 4.
    """
    raise NotImplementedError("Part 11.8 l2_4_intensity: see README.md §11.8")


def l2_5_kv_bytes(
    *,
    sequences: int,
    context: int,
    n_layers: int,
    n_kv_heads: int,
    head_dim: int,
    bytes_per_number: int,
) -> float:
    """How many bytes has the KV cache of several sequences of `context` tokens each?

    Source: L2 exercise 5.
    """
    raise NotImplementedError("Part 11.9 l2_5_kv_bytes: see README.md §11.9")


def l2_5_against_weights(
    *, sequences: int, context: int, n_layers: int, n_kv_heads: int, head_dim: int, n_params: int
) -> float:
    """How many times as large is that cache as the weights, all in the same number format?

    Source: L2 exercise 5.
    """
    raise NotImplementedError("Part 11.10 l2_5_against_weights: see README.md §11.10")


def l2_6_with_cache(
    *,
    prompt: int,
    new_tokens: int,
    n_layers: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    head_dim: int,
    d_ff: int,
    vocab_size: int,
) -> float:
    """How many FLOPs does a model take for a prompt and new tokens, with a KV cache?

    The prefill gives the first new token and decode steps the others. Count 2 for each matrix
    parameter and token (SwiGLU has three matrices; lm_head for every token that goes through; the
    embedding table is looked up), and the attention scores and sums that the causal mask allows.

    Source: L2 exercise 6, §4 and §5.4.
    """
    raise NotImplementedError("Part 11.11 l2_6_with_cache: see README.md §11.11")


def l2_6_without_cache(
    *,
    prompt: int,
    new_tokens: int,
    n_layers: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    head_dim: int,
    d_ff: int,
    vocab_size: int,
) -> float:
    """And without a cache: a whole forward pass over all of the text so far for each new token?

    Source: L2 exercise 6, §5.1.
    """
    raise NotImplementedError("Part 11.12 l2_6_without_cache: see README.md §11.12")


def l2_6_ratio(
    *,
    prompt: int,
    new_tokens: int,
    n_layers: int,
    d_model: int,
    n_heads: int,
    n_kv_heads: int,
    head_dim: int,
    d_ff: int,
    vocab_size: int,
) -> float:
    """How many times as many FLOPs does it take without the cache as with it?

    Source: L2 exercise 6.
    """
    raise NotImplementedError("Part 11.13 l2_6_ratio: see README.md §11.13")


def l2_7_mla_bytes_per_token(
    *, n_layers: int, latent_dim: int, rope_dim: int, bytes_per_number: int
) -> float:
    """How many bytes has the KV cache of a model with latent attention (MLA) for one token?

    Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.14 l2_7_mla_bytes_per_token: see README.md §11.14")


def l2_7_ratio(*, n_heads: int, head_dim: int, latent_dim: int, rope_dim: int) -> float:
    """How many times as large would the cache be with multi-head attention of n_heads heads?

    In as many layers and in the same number format; keys and values of head_dim numbers each.

    Source: L2 exercise 7.
    """
    raise NotImplementedError("Part 11.15 l2_7_ratio: see README.md §11.15")


def l2_10_swiglu_bytes(*, tokens: int, d_ff: int, n_layers: int, bytes_per_number: int) -> float:
    """How many bytes does the elementwise work of SwiGLU move in a prefill of one sequence?

    Run by itself it reads the results of the gate and up products and writes silu(gate) * up, all
    of shape (T, d_ff). All layers together.

    Source: L2 exercise 10.
    """
    raise NotImplementedError("Part 11.16 l2_10_swiglu_bytes: see README.md §11.16")


def l2_10_norm_bytes(*, tokens: int, d_model: int, n_layers: int, bytes_per_number: int) -> float:
    """And how many do the two RMSNorms of each layer move, each reading x and writing the result?

    The final norm, which belongs to no layer, is left out.

    Source: L2 exercise 10.
    """
    raise NotImplementedError("Part 11.17 l2_10_norm_bytes: see README.md §11.17")


def d3_3_query_length(*, d_model: int, n_heads: int) -> float:
    """How long is the q vector of one head, where all heads together are as wide as the model?

    Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.18 d3_3_query_length: see README.md §11.18")


def d3_3_w_q_of_one_head(*, d_model: int, head_dim: int) -> tuple[int, int]:
    """Rows and columns of W^q of one head, in the convention x @ w.

    Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.19 d3_3_w_q_of_one_head: see README.md §11.19")


def d3_3_w_q_of_the_layer(*, d_model: int, n_heads: int, head_dim: int) -> tuple[int, int]:
    """Rows and columns of W^q of the whole layer, all heads side by side.

    In Llama-2-7B n_heads * head_dim is d_model; in other models it need not be.

    Source: D3 自测 3.
    """
    raise NotImplementedError("Part 11.20 d3_3_w_q_of_the_layer: see README.md §11.20")


def d3_4_growth(*, before: int, after: int) -> float:
    """A sequence grows to `after` tokens: how many times as many entries has the attention matrix?

    It has a row for each query and a column for each key.

    Source: D3 自测 4.
    """
    raise NotImplementedError("Part 11.21 d3_4_growth: see README.md §11.21")


def d3_7_first_of_the_output() -> str:
    """What is the first of the two numbers of token 3's attention output?

    k1 = [1, 0], k2 = [0, 1], k3 = [1, 0]; v1 = [2, 0], v2 = [0, 2], v3 = [4, 4]; q3 = [0, 2].
    Not scaled, with a causal mask. By hand, or in numpy.

    A number; 2 digits. Source: D3 自测 7.
    """
    raise NotImplementedError("Part 11.22 d3_7_first_of_the_output: see README.md §11.22")


def d3_7_second_of_the_output() -> str:
    """And the second?

    A number; 2 digits. Source: D3 自测 7.
    """
    raise NotImplementedError("Part 11.23 d3_7_second_of_the_output: see README.md §11.23")


def d3_prefill_shapes(
    *, tokens: int, d_model: int, n_heads: int, head_dim: int
) -> dict[str, tuple[int, int]]:
    """Every shape of one layer's attention in a prefill, as D3's table writes them.

    One sequence, so that everything is a matrix with a row for each token, in the convention x @ w.

    Returns:
        (rows, columns) under "x", "q" (all heads side by side), "q_head", "k_head", "v_head" (one
        head's), "scores", "weights", "head_output" (of one head), "concatenated" (all heads) and
        "output" (behind W^o).

    Source: D3, learning goal 3.
    """
    raise NotImplementedError("Part 11.24 d3_prefill_shapes: see README.md §11.24")


def d3_decode_shapes(
    *, past: int, d_model: int, n_heads: int, head_dim: int
) -> dict[str, tuple[int, int]]:
    """The same in the decode step behind them, with `past` tokens in the cache.

    "k_head" and "v_head" are all that the new query meets: the cache's, and its own.

    Source: D3, learning goal 3.
    """
    raise NotImplementedError("Part 11.25 d3_decode_shapes: see README.md §11.25")
