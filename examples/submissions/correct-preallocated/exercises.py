import numpy as np

from .accounting import einsum_flops, generation_flops, kv_bytes_per_token, n_params
from .attention import softmax
from .transformer import ModelConfig


def config(
    n_layers=1, d_model=1, n_heads=1, n_kv_heads=1, head_dim=2, d_ff=1, vocab_size=1, **others
):
    return ModelConfig("", n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size)


def l2_1_parameters(*, d_model, **sizes):
    return n_params(config(d_model=d_model, head_dim=d_model, **sizes))


def l2_1_attention_share(**sizes):
    return 4 * sizes["n_layers"] * sizes["d_model"] ** 2 / l2_1_parameters(**sizes)


def l2_1_kv_bytes_per_token(n_layers, n_heads, head_dim, bytes_per_number):
    model = config(n_layers=n_layers, n_kv_heads=n_heads, n_heads=n_heads, head_dim=head_dim)
    return kv_bytes_per_token(model, bytes_per_number)


def l2_2_negative_sampling(window, dim, n_negative):
    return np.int64(window * dim * (n_negative + 2))


def l2_2_full_softmax(window, dim, vocab_size):
    return np.float64(window * dim * (1 + vocab_size))


def l2_2_ratio(window, dim, n_negative, vocab_size):
    full = l2_2_full_softmax(window, dim, vocab_size)
    return full / l2_2_negative_sampling(window, dim, n_negative)


def l2_3_einsum_flops():
    return einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8))


def l2_4_intensity(n_heads, n_kv_heads, context):
    group = np.float32(n_heads / n_kv_heads)
    return group * np.float32(context) / (group + np.float32(context))


def l2_5_kv_bytes(sequences, context, bytes_per_number, n_kv_heads, **sizes):
    model = config(n_heads=n_kv_heads, n_kv_heads=n_kv_heads, **sizes)
    return sequences * context * float(kv_bytes_per_token(model, bytes_per_number))


def l2_5_against_weights(*, n_params, **sizes):
    return np.array(l2_5_kv_bytes(bytes_per_number=1, **sizes) / n_params)


def l2_6_with_cache(prompt, new_tokens, **sizes):
    return generation_flops(config(**sizes), prompt, new_tokens, True)


def l2_6_without_cache(prompt, new_tokens, **sizes):
    return np.float64(generation_flops(config(**sizes), prompt, new_tokens, False))


def l2_6_ratio(**sizes):
    return l2_6_without_cache(**sizes) / l2_6_with_cache(**sizes)


def l2_7_mla_bytes_per_token(n_layers, latent_dim, rope_dim, bytes_per_number):
    return np.uint32(n_layers) * np.uint32(latent_dim + rope_dim) * np.uint32(bytes_per_number)


def l2_7_ratio(n_heads, head_dim, latent_dim, rope_dim):
    return 2.0 * n_heads * head_dim / (latent_dim + rope_dim)


def l2_10_swiglu_bytes(tokens, d_ff, n_layers, bytes_per_number):
    return np.prod([3, tokens, d_ff, n_layers, bytes_per_number], dtype=np.int64)


def l2_10_norm_bytes(tokens, d_model, n_layers, bytes_per_number):
    return 4e0 * tokens * d_model * n_layers * bytes_per_number


def d3_3_query_length(d_model, n_heads):
    return d_model / n_heads


def d3_3_w_q_of_one_head(d_model, head_dim):
    return np.zeros((d_model, head_dim)).shape


def d3_3_w_q_of_the_layer(d_model, n_heads, head_dim):
    return np.array([d_model, n_heads * head_dim])


def d3_4_growth(before, after):
    return (after / before) ** 2.0


def output():
    weights = softmax(np.array([0.0, 2.0, 0.0]))
    return weights @ np.array([[2.0, 0], [0, 2], [4, 4]])


def d3_7_first_of_the_output():
    return output()[0]


def d3_7_second_of_the_output():
    return f"{output()[1]:.3g}"


def d3_prefill_shapes(tokens, d_model, n_heads, head_dim):
    return attention_shapes(tokens, np.int64(tokens), d_model, n_heads, head_dim)


def d3_decode_shapes(past, d_model, n_heads, head_dim):
    return attention_shapes(1, past + 1, d_model, n_heads, head_dim)


def attention_shapes(t, s, d, h, d_h):
    heads = dict.fromkeys(("k_head", "v_head"), (s, d_h))
    queries = dict.fromkeys(("q_head", "head_output"), (t, d_h))
    scores = dict.fromkeys(("scores", "weights"), (t, s))
    wide = dict.fromkeys(("q", "concatenated"), (t, h * d_h))
    return dict.fromkeys(("x", "output"), (t, d)) | heads | queries | scores | wide
