# worked out on paper and with the calculator


def l2_1_parameters():
    return "17.44 B"


def l2_1_attention_share():
    return "24.6 %"


def l2_1_kv_bytes_per_token():
    return "512 KiB"


def l2_2_negative_sampling():
    return "25,500"


def l2_2_full_softmax():
    return "1.5e9"


def l2_2_ratio():
    return "59,000 times"


def l2_3_einsum_flops():
    return "80,640 FLOP"


def l2_4_intensity_128():
    return "7.53 FLOPs/byte"


def l2_4_intensity_1024():
    return "7.94 FLOPs/byte"


def l2_4_intensity_32768():
    return "8.00 FLOPs/byte"


def l2_5_kv_fp8():
    return "85.9 GB"


def l2_5_kv_bf16():
    return "171.8 GB"


def l2_5_against_weights():
    return "1.22 times"


def l2_6_with_cache():
    return "64.2 TFLOP"


def l2_6_without_cache():
    return "94.9 PFLOP"


def l2_6_ratio():
    return "1480 times"


def l2_7_mla_bf16():
    return "68.6 KiB"


def l2_7_mla_fp8():
    return "34.3 KiB"


def l2_7_mha_bf16():
    return "3.81 MiB"


def l2_7_ratio():
    return "57 times"


def l2_10_swiglu_bytes():
    return "5.64 GB"


def l2_10_norm_bytes():
    return "2.15 GB"


def d3_3_query_length():
    return "128"


def d3_3_w_q_of_one_head():
    return "4096 x 128"


def d3_3_w_q_of_the_layer():
    return "4096 x 4096"


def d3_4_growth():
    return "16 times"


def d3_7_first_of_the_output():
    return "0.64"


def d3_7_second_of_the_output():
    return "2.00"
