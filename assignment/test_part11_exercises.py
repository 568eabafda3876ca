"""Part 11: the exercises of both lectures with a number for an answer."""

from .harness.exercises import check_answer
from .harness.points import graded


@graded("11.1", 0.5)
def test_l2_1_parameters(student):
    """L2 exercise 1: the parameters of the model."""
    check_answer(student, "l2_1_parameters")


@graded("11.2", 0.25)
def test_l2_1_attention_share(student):
    """L2 exercise 1: the share of attention."""
    check_answer(student, "l2_1_attention_share")


@graded("11.3", 0.5)
def test_l2_1_kv_bytes_per_token(student):
    """L2 exercise 1: the cache of a token in int8."""
    check_answer(student, "l2_1_kv_bytes_per_token")


@graded("11.4", 0.5)
def test_l2_2_negative_sampling(student):
    """L2 exercise 2: Q with negative sampling."""
    check_answer(student, "l2_2_negative_sampling")


@graded("11.5", 0.25)
def test_l2_2_full_softmax(student):
    """L2 exercise 2: Q with the full softmax."""
    check_answer(student, "l2_2_full_softmax")


@graded("11.6", 0.25)
def test_l2_2_ratio(student):
    """L2 exercise 2: how many times as much."""
    check_answer(student, "l2_2_ratio")


@graded("11.7", 0.5)
def test_l2_3_einsum_flops(student):
    """L2 exercise 3: FLOPs of a contraction."""
    check_answer(student, "l2_3_einsum_flops")


@graded("11.8", 0.25)
def test_l2_4_intensity_128(student):
    """L2 exercise 4: intensity at S = 128."""
    check_answer(student, "l2_4_intensity_128")


@graded("11.9", 0.25)
def test_l2_4_intensity_1024(student):
    """L2 exercise 4: intensity at S = 1024."""
    check_answer(student, "l2_4_intensity_1024")


@graded("11.10", 0.25)
def test_l2_4_intensity_32768(student):
    """L2 exercise 4: intensity at S = 32768."""
    check_answer(student, "l2_4_intensity_32768")


@graded("11.11", 0.5)
def test_l2_5_kv_fp8(student):
    """L2 exercise 5: four contexts of 128K in FP8."""
    check_answer(student, "l2_5_kv_fp8")


@graded("11.12", 0.25)
def test_l2_5_kv_bf16(student):
    """L2 exercise 5: four contexts of 128K in BF16."""
    check_answer(student, "l2_5_kv_bf16")


@graded("11.13", 0.25)
def test_l2_5_against_weights(student):
    """L2 exercise 5: the cache beside the weights."""
    check_answer(student, "l2_5_against_weights")


@graded("11.14", 0.5)
def test_l2_6_with_cache(student):
    """L2 exercise 6: FLOPs with a cache."""
    check_answer(student, "l2_6_with_cache")


@graded("11.15", 0.5)
def test_l2_6_without_cache(student):
    """L2 exercise 6: FLOPs without a cache."""
    check_answer(student, "l2_6_without_cache")


@graded("11.16", 0.25)
def test_l2_6_ratio(student):
    """L2 exercise 6: what the cache saves."""
    check_answer(student, "l2_6_ratio")


@graded("11.17", 0.5)
def test_l2_7_mla_bf16(student):
    """L2 exercise 7: MLA's cache of a token in BF16."""
    check_answer(student, "l2_7_mla_bf16")


@graded("11.18", 0.25)
def test_l2_7_mla_fp8(student):
    """L2 exercise 7: MLA's cache of a token in FP8."""
    check_answer(student, "l2_7_mla_fp8")


@graded("11.19", 0.25)
def test_l2_7_mha_bf16(student):
    """L2 exercise 7: the same with MHA."""
    check_answer(student, "l2_7_mha_bf16")


@graded("11.20", 0.25)
def test_l2_7_ratio(student):
    """L2 exercise 7: MHA beside MLA."""
    check_answer(student, "l2_7_ratio")


@graded("11.21", 0.5)
def test_l2_10_swiglu_bytes(student):
    """L2 exercise 10: bytes of SwiGLU's elementwise work."""
    check_answer(student, "l2_10_swiglu_bytes")


@graded("11.22", 0.25)
def test_l2_10_norm_bytes(student):
    """L2 exercise 10: bytes of the norms."""
    check_answer(student, "l2_10_norm_bytes")


@graded("11.23", 0.25)
def test_d3_3_query_length(student):
    """D3 question 3: the length of q."""
    check_answer(student, "d3_3_query_length")


@graded("11.24", 0.5)
def test_d3_3_w_q_of_one_head(student):
    """D3 question 3: W^q of one head."""
    check_answer(student, "d3_3_w_q_of_one_head")


@graded("11.25", 0.25)
def test_d3_3_w_q_of_the_layer(student):
    """D3 question 3: W^q of the layer."""
    check_answer(student, "d3_3_w_q_of_the_layer")


@graded("11.26", 0.5)
def test_d3_4_growth(student):
    """D3 question 4: how the attention matrix grows."""
    check_answer(student, "d3_4_growth")


@graded("11.27", 0.5)
def test_d3_7_first_of_the_output(student):
    """D3 question 7: the output of token 3, first number."""
    check_answer(student, "d3_7_first_of_the_output")


@graded("11.28", 0.25)
def test_d3_7_second_of_the_output(student):
    """D3 question 7: the output of token 3, second number."""
    check_answer(student, "d3_7_second_of_the_output")
