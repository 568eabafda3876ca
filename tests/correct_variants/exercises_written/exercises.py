"""Answers written down, in as many ways as people write numbers."""

ANSWERS = {
    "l2_1_parameters": "17.44 B",
    "l2_1_attention_share": "２４．６％",
    "l2_1_kv_bytes_per_token": "512 KiB/token",
    "l2_2_negative_sampling": "25,500",
    "l2_2_full_softmax": "≈ 1.5 × 10⁹",
    "l2_2_ratio": "约 6 万倍",
    "l2_3_einsum_flops": "80_640 FLOPs",
    "l2_4_intensity_128": "7.53 FLOPs/byte",
    "l2_4_intensity_1024": "7.94",
    "l2_4_intensity_32768": " 8.00 FLOP/B ",
    "l2_5_kv_fp8": "80.0 GiB",
    "l2_5_kv_bf16": "1718 亿字节",
    "l2_5_against_weights": "1.2x",
    "l2_6_with_cache": "64.2 TFLOP.",
    "l2_6_without_cache": "9.49e16 FLOP",
    "l2_6_ratio": "about 1480 times",
    "l2_7_mla_bf16": "70.3 KB",
    "l2_7_mla_fp8": "0.281 Mbit",
    "l2_7_mha_bf16": "3.81 MiB per token",
    "l2_7_ratio": "57 倍",
    "l2_10_swiglu_bytes": "5.64gb",
    "l2_10_norm_bytes": "2.15 * 10**9 bytes",
    "d3_3_query_length": "128 维",
    "d3_3_w_q_of_one_head": "4096 rows, 128 columns",
    "d3_3_w_q_of_the_layer": "4,096 × 4,096",
    "d3_4_growth": "16",
    "d3_7_first_of_the_output": "0.64",
    "d3_7_second_of_the_output": "2.0",
}


def _function(answer):
    return lambda: answer


globals().update({name: _function(answer) for name, answer in ANSWERS.items()})
