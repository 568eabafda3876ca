import numpy as np

from .accounting import einsum_flops, generation_flops, kv_bytes_per_token, n_params
from .attention import softmax
from .transformer import ModelConfig


def config(layers, d, heads, kv_heads, d_h, f, vocabulary):
    return ModelConfig("", layers, d, heads, kv_heads, d_h, f, vocabulary)


MHA = config(64, 4096, 32, 32, 128, 16384, 32000)
LLAMA_8B = config(32, 4096, 32, 8, 128, 14336, 128256)
LLAMA_70B = config(80, 8192, 64, 8, 128, 28672, 128256)


def l2_1_parameters():
    return n_params(MHA)


def l2_1_attention_share():
    return 64 * 4 * 4096**2 / n_params(MHA)


def l2_1_kv_bytes_per_token():
    return (kv_bytes_per_token(MHA, 1) / 1024, "KiB")


def l2_2_negative_sampling():
    return np.int64(5 * 300 * 17)


def l2_2_full_softmax():
    return np.float64(5 * 300 * 1_000_001)


def l2_2_ratio():
    return l2_2_full_softmax() / l2_2_negative_sampling()


def l2_3_einsum_flops():
    return einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8))


def intensity(context):
    return context * 8 / (8 + context)


def l2_4_intensity_128():
    return intensity(128)


def l2_4_intensity_1024():
    return np.array(intensity(1024))


def l2_4_intensity_32768():
    return [intensity(32768), "FLOP/byte"]


def l2_5_kv_fp8():
    return (4 * 131072 * kv_bytes_per_token(LLAMA_70B, 1), "bytes")


def l2_5_kv_bf16():
    return f"{4 * 131072 * kv_bytes_per_token(LLAMA_70B, 2):,} B"


def l2_5_against_weights():
    return l2_5_kv_fp8()[0] / n_params(LLAMA_70B)


def l2_6_with_cache():
    return generation_flops(LLAMA_8B, 2000, 2000, True)


def l2_6_without_cache():
    return f"{generation_flops(LLAMA_8B, 2000, 2000, False) / 1e15} PFLOP"


def l2_6_ratio():
    return generation_flops(LLAMA_8B, 2000, 2000, False) / l2_6_with_cache()


def l2_7_mla_bf16():
    return f"{61 * 576 * 2 / 1024} KiB"


def l2_7_mla_fp8():
    return f"{61 * 576 / 1e3} KB"


def l2_7_mha_bf16():
    return f"{2 * 61 * 128 * 128 * 2 / 2**20} MiB"


def l2_7_ratio():
    return f"{2 * 128 * 128 / 576}"


def l2_10_swiglu_bytes():
    return f"{3 * 2048 * 14336 * 2 * 32:.2e} bytes"


def l2_10_norm_bytes():
    # The final norm, of the last position, belongs to the account and changes nothing.
    return f"{2 * 2 * 4096 * (2 * 32 * 2048 + 1)} B"


def d3_3_query_length():
    return 4096 / 32


def d3_3_w_q_of_one_head():
    return np.zeros((4096, 128)).shape


def d3_3_w_q_of_the_layer():
    return [4096, 4096]


def d3_4_growth():
    return 4.0**2


def output():
    weights = softmax(np.array([0.0, 2.0, 0.0]))
    return weights @ np.array([[2.0, 0], [0, 2], [4, 4]])


def d3_7_first_of_the_output():
    return output()[0]


def d3_7_second_of_the_output():
    return f"{output()[1]:.3g}"
