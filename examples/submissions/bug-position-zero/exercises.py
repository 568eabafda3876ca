import math

K, M, G, T, P = 1e3, 1e6, 1e9, 1e12, 1e15


def l2_1_parameters():
    per_layer = 4 * 4096**2 + 3 * 4096 * 16384
    total = 64 * per_layer + 2 * 32000 * 4096
    return f"{total / G:.2f} B"


def l2_1_attention_share():
    per_layer = 4 * 4096**2 + 3 * 4096 * 16384
    total = 64 * per_layer + 2 * 32000 * 4096
    return f"{64 * 4 * 4096**2 / total:.1%}"


def l2_1_kv_bytes_per_token():
    k_and_v = 2
    return f"{k_and_v * 64 * 32 * 128 / 1024} KiB"


def l2_2_negative_sampling():
    c, d, k = 5, 300, 15
    return c * (d + d * (k + 1))


def l2_2_full_softmax():
    return 5 * (300 + 300 * 10**6)


def l2_2_ratio():
    return l2_2_full_softmax() / l2_2_negative_sampling()


def l2_3_einsum_flops():
    return f"{2 * math.prod([2, 3, 4, 5, 6, 7, 8])} FLOP"


def _intensity(s, r=64 // 8):
    return f"{s * r / (r + s):.3f} FLOP/byte"


def l2_4_intensity_128():
    return _intensity(128)


def l2_4_intensity_1024():
    return _intensity(1024)


def l2_4_intensity_32768():
    return _intensity(32768)


_TOKENS = 4 * 128 * 1024
_NUMBERS = 2 * 80 * 8 * 128


def l2_5_kv_fp8():
    return f"{_TOKENS * _NUMBERS / G:.1f} GB"


def l2_5_kv_bf16():
    return f"{2 * _TOKENS * _NUMBERS / G:.1f} GB"


def l2_5_against_weights():
    return f"{_TOKENS * _NUMBERS / G / 70.6:.2f} x"


def _flops(n_tokens, n_pairs):
    layer = 2 * 4096 * 4096 + 2 * 4096 * 8 * 128 + 3 * 4096 * 14336
    return 2 * n_tokens * (32 * layer + 4096 * 128256) + 4 * 32 * 32 * 128 * n_pairs


def l2_6_with_cache():
    return f"{_flops(3999, sum(range(1, 4000))) / T:.1f} TFLOP"


def l2_6_without_cache():
    steps = [_flops(n, n * (n + 1) // 2) for n in range(2000, 4000)]
    return f"{sum(steps) / P:.1f} PFLOP"


def l2_6_ratio():
    steps = [_flops(n, n * (n + 1) // 2) for n in range(2000, 4000)]
    return sum(steps) / _flops(3999, sum(range(1, 4000)))


def l2_7_mla_bf16():
    return (61 * (512 + 64) * 2, "bytes")


def l2_7_mla_fp8():
    return (61 * (512 + 64), "bytes")


def l2_7_mha_bf16():
    return (2 * 61 * 128 * 128 * 2, "bytes")


def l2_7_ratio():
    return l2_7_mha_bf16()[0] / l2_7_mla_bf16()[0]


def l2_10_swiglu_bytes():
    return f"{3 * 2048 * 14336 * 2 * 32 / G:.2f} GB"


def l2_10_norm_bytes():
    return f"{2 * 2 * 2048 * 4096 * 2 * 32 / G:.2f} GB"


def d3_3_query_length():
    return 4096 // 32


def d3_3_w_q_of_one_head():
    return (4096, 128)


def d3_3_w_q_of_the_layer():
    return (4096, 4096)


def d3_4_growth():
    return (4000 / 1000) ** 2


def _output():
    weights = [math.exp(0), math.exp(2), math.exp(0)]
    values = [(2, 0), (0, 2), (4, 4)]
    total = sum(weights)
    return [sum(w * v[i] for w, v in zip(weights, values)) / total for i in (0, 1)]


def d3_7_first_of_the_output():
    return _output()[0]


def d3_7_second_of_the_output():
    return _output()[1]
