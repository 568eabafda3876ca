"""Part 11: the exercises of both lectures, as far as a formula or a number answers them.

A formula is asked with the lecture's numbers, whose answer stands here, and then with others.
"""

from .harness.exercises import check_answer
from .harness.formulas import check_formula
from .harness.points import graded

# Models of the exercises, as far as they are given there.
EXERCISE_1 = {"n_layers": 64, "d_model": 4096, "d_ff": 16384, "vocab_size": 32000}
LLAMA31_8B = {"n_layers": 32, "d_model": 4096, "n_heads": 32, "n_kv_heads": 8, "head_dim": 128}
LLAMA31_8B |= {"d_ff": 14336, "vocab_size": 128256}
LLAMA2_7B = {"d_model": 4096, "n_heads": 32, "head_dim": 128}
LONG_CONTEXTS = {"sequences": 4, "context": 131072, "n_layers": 80, "n_kv_heads": 8}
LONG_CONTEXTS |= {"head_dim": 128}

# The norms are a ten-thousandth of a model: counted or not, the answer is right.
NORMS_DO_NOT_MATTER = 1e-3


@graded("11.1", 0.5, once=True)
def test_l2_1_parameters(student, oracle):
    """L2 exercise 1: the parameters of a model."""
    case = oracle("exercises/l2_1_parameters")
    check_formula(student, case, EXERCISE_1, 17_442_541_568, NORMS_DO_NOT_MATTER)


@graded("11.2", 0.25, once=True)
def test_l2_1_attention_share(student, oracle):
    """L2 exercise 1: the share of attention."""
    case = oracle("exercises/l2_1_attention_share")
    check_formula(student, case, EXERCISE_1, 0.24624, NORMS_DO_NOT_MATTER)


@graded("11.3", 0.5, once=True)
def test_l2_1_kv_bytes_per_token(student, oracle):
    """L2 exercise 1: the cache of a token, in int8 and other formats."""
    int8 = {"n_layers": 64, "n_heads": 32, "head_dim": 128, "bytes_per_number": 1}
    check_formula(student, oracle("exercises/l2_1_kv_bytes_per_token"), int8, 524_288)


@graded("11.4", 0.5, once=True)
def test_l2_2_negative_sampling(student, oracle):
    """L2 exercise 2: Q with negative sampling."""
    sizes = {"window": 5, "dim": 300, "n_negative": 15}
    check_formula(student, oracle("exercises/l2_2_negative_sampling"), sizes, 25_500)


@graded("11.5", 0.25, once=True)
def test_l2_2_full_softmax(student, oracle):
    """L2 exercise 2: Q with the full softmax."""
    sizes = {"window": 5, "dim": 300, "vocab_size": 1_000_000}
    check_formula(student, oracle("exercises/l2_2_full_softmax"), sizes, 1_500_001_500)


@graded("11.6", 0.25, once=True)
def test_l2_2_ratio(student, oracle):
    """L2 exercise 2: how many times as much."""
    sizes = {"window": 5, "dim": 300, "n_negative": 15, "vocab_size": 1_000_000}
    check_formula(student, oracle("exercises/l2_2_ratio"), sizes, 58_823.588235)


@graded("11.7", 0.5)
def test_l2_3_einsum_flops(student):
    """L2 exercise 3: FLOPs of a contraction."""
    check_answer(student, "l2_3_einsum_flops")


@graded("11.8", 0.75, once=True)
def test_l2_4_intensity(student, oracle):
    """L2 exercise 4: intensity of grouped attention in decode."""
    sizes = {"n_heads": 64, "n_kv_heads": 8, "context": 1024}
    check_formula(student, oracle("exercises/l2_4_intensity"), sizes, 7.9379845)


@graded("11.9", 0.5, once=True)
def test_l2_5_kv_bytes(student, oracle):
    """L2 exercise 5: the cache of long contexts, in FP8 and other formats."""
    fp8 = LONG_CONTEXTS | {"bytes_per_number": 1}
    check_formula(student, oracle("exercises/l2_5_kv_bytes"), fp8, 85_899_345_920)


@graded("11.10", 0.25, once=True)
def test_l2_5_against_weights(student, oracle):
    """L2 exercise 5: the cache beside the weights."""
    sizes = LONG_CONTEXTS | {"n_params": 70_553_706_496}
    check_formula(student, oracle("exercises/l2_5_against_weights"), sizes, 1.21750295)


@graded("11.11", 0.5, once=True)
def test_l2_6_with_cache(student, oracle):
    """L2 exercise 6: FLOPs with a cache."""
    sizes = {"prompt": 2000, "new_tokens": 2000} | LLAMA31_8B
    check_formula(student, oracle("exercises/l2_6_with_cache"), sizes, 64_215_513_563_136)


@graded("11.12", 0.5, once=True)
def test_l2_6_without_cache(student, oracle):
    """L2 exercise 6: FLOPs without a cache."""
    sizes = {"prompt": 2000, "new_tokens": 2000} | LLAMA31_8B
    check_formula(student, oracle("exercises/l2_6_without_cache"), sizes, 94_934_246_359_040_000)


@graded("11.13", 0.25, once=True)
def test_l2_6_ratio(student, oracle):
    """L2 exercise 6: what the cache saves."""
    sizes = {"prompt": 2000, "new_tokens": 2000} | LLAMA31_8B
    check_formula(student, oracle("exercises/l2_6_ratio"), sizes, 1478.3693393)


@graded("11.14", 0.5, once=True)
def test_l2_7_mla_bytes_per_token(student, oracle):
    """L2 exercise 7: MLA's cache of a token, in BF16 and other formats."""
    bf16 = {"n_layers": 61, "latent_dim": 512, "rope_dim": 64, "bytes_per_number": 2}
    check_formula(student, oracle("exercises/l2_7_mla_bytes_per_token"), bf16, 70_272)


@graded("11.15", 0.25, once=True)
def test_l2_7_ratio(student, oracle):
    """L2 exercise 7: MHA beside MLA."""
    sizes = {"n_heads": 128, "head_dim": 128, "latent_dim": 512, "rope_dim": 64}
    check_formula(student, oracle("exercises/l2_7_ratio"), sizes, 56.8888889)


@graded("11.16", 0.5, once=True)
def test_l2_10_swiglu_bytes(student, oracle):
    """L2 exercise 10: bytes of SwiGLU's elementwise work."""
    bf16 = {"tokens": 2048, "d_ff": 14336, "n_layers": 32, "bytes_per_number": 2}
    check_formula(student, oracle("exercises/l2_10_swiglu_bytes"), bf16, 5_637_144_576)


@graded("11.17", 0.25, once=True)
def test_l2_10_norm_bytes(student, oracle):
    """L2 exercise 10: bytes of the norms."""
    bf16 = {"tokens": 2048, "d_model": 4096, "n_layers": 32, "bytes_per_number": 2}
    check_formula(student, oracle("exercises/l2_10_norm_bytes"), bf16, 2_147_483_648)


@graded("11.18", 0.25, once=True)
def test_d3_3_query_length(student, oracle):
    """D3 question 3: the length of q."""
    sizes = {"d_model": 4096, "n_heads": 32}
    check_formula(student, oracle("exercises/d3_3_query_length"), sizes, 128)


@graded("11.19", 0.25, once=True)
def test_d3_3_w_q_of_one_head(student, oracle):
    """D3 question 3: W^q of one head."""
    sizes = {"d_model": 4096, "head_dim": 128}
    check_formula(student, oracle("exercises/d3_3_w_q_of_one_head"), sizes, (4096, 128))


@graded("11.20", 0.25, once=True)
def test_d3_3_w_q_of_the_layer(student, oracle):
    """D3 question 3: W^q of the layer."""
    case = oracle("exercises/d3_3_w_q_of_the_layer")
    check_formula(student, case, LLAMA2_7B, (4096, 4096))


@graded("11.21", 0.25, once=True)
def test_d3_4_growth(student, oracle):
    """D3 question 4: how the attention matrix grows."""
    check_formula(student, oracle("exercises/d3_4_growth"), {"before": 1000, "after": 4000}, 16)


@graded("11.22", 0.25)
def test_d3_7_first_of_the_output(student):
    """D3 question 7: the output of token 3, first number."""
    check_answer(student, "d3_7_first_of_the_output")


@graded("11.23", 0.25)
def test_d3_7_second_of_the_output(student):
    """D3 question 7: the output of token 3, second number."""
    check_answer(student, "d3_7_second_of_the_output")


@graded("11.24", 0.75, once=True)
def test_d3_prefill_shapes(student, oracle):
    """D3 learning goal 3: every shape in a prefill."""
    shapes = {
        "x": (2000, 4096),
        "q": (2000, 4096),
        "q_head": (2000, 128),
        "k_head": (2000, 128),
        "v_head": (2000, 128),
        "scores": (2000, 2000),
        "weights": (2000, 2000),
        "head_output": (2000, 128),
        "concatenated": (2000, 4096),
        "output": (2000, 4096),
    }
    sizes = {"tokens": 2000} | LLAMA2_7B
    check_formula(student, oracle("exercises/d3_prefill_shapes"), sizes, shapes)


@graded("11.25", 0.75, once=True)
def test_d3_decode_shapes(student, oracle):
    """D3 learning goal 3: every shape in the decode step behind it."""
    shapes = {
        "x": (1, 4096),
        "q": (1, 4096),
        "q_head": (1, 128),
        "k_head": (2001, 128),
        "v_head": (2001, 128),
        "scores": (1, 2001),
        "weights": (1, 2001),
        "head_output": (1, 128),
        "concatenated": (1, 4096),
        "output": (1, 4096),
    }
    sizes = {"past": 2000} | LLAMA2_7B
    check_formula(student, oracle("exercises/d3_decode_shapes"), sizes, shapes)
