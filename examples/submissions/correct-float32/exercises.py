# worked out on paper


def l2_1_parameters(n_layers, d_model, d_ff, vocab_size):
    one_layer = 4 * d_model * d_model + 3 * d_model * d_ff
    return n_layers * one_layer + 2 * vocab_size * d_model


def l2_1_attention_share(n_layers, d_model, d_ff, vocab_size):
    attention = n_layers * 4 * d_model * d_model
    return attention / l2_1_parameters(n_layers, d_model, d_ff, vocab_size)


def l2_1_kv_bytes_per_token(n_layers, n_heads, head_dim, bytes_per_number):
    return 2 * n_layers * n_heads * head_dim * bytes_per_number


def l2_2_negative_sampling(window, dim, n_negative):
    return window * (dim + dim * (n_negative + 1))


def l2_2_full_softmax(window, dim, vocab_size):
    return window * (dim + dim * vocab_size)


def l2_2_ratio(window, dim, n_negative, vocab_size):
    big = l2_2_full_softmax(window, dim, vocab_size)
    return big / l2_2_negative_sampling(window, dim, n_negative)


def l2_3_einsum_flops():
    return "80,640 FLOP"


def l2_4_intensity(n_heads, n_kv_heads, context):
    r = n_heads / n_kv_heads
    return context * r / (r + context)


def l2_5_kv_bytes(sequences, context, n_layers, n_kv_heads, head_dim, bytes_per_number):
    one_token = l2_1_kv_bytes_per_token(n_layers, n_kv_heads, head_dim, bytes_per_number)
    return sequences * context * one_token


def l2_5_against_weights(sequences, context, n_layers, n_kv_heads, head_dim, n_params):
    return l2_5_kv_bytes(sequences, context, n_layers, n_kv_heads, head_dim, 1) / n_params


def matrix_params(n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size):
    q_and_o = 2 * d_model * n_heads * head_dim
    k_and_v = 2 * d_model * n_kv_heads * head_dim
    return n_layers * (q_and_o + k_and_v + 3 * d_model * d_ff) + d_model * vocab_size


def l2_6_with_cache(prompt, new_tokens, **model):
    total = 0
    core = 4 * model["n_layers"] * model["n_heads"] * model["head_dim"]
    for context in range(1, prompt + new_tokens):
        total += 2 * matrix_params(**model) + core * context
    return total


def l2_6_without_cache(prompt, new_tokens, **model):
    total = 0
    core = 4 * model["n_layers"] * model["n_heads"] * model["head_dim"]
    for n in range(prompt, prompt + new_tokens):
        total += 2 * matrix_params(**model) * n + core * (n * (n + 1) // 2)
    return total


def l2_6_ratio(**sizes):
    return l2_6_without_cache(**sizes) / l2_6_with_cache(**sizes)


def l2_7_mla_bytes_per_token(n_layers, latent_dim, rope_dim, bytes_per_number):
    return n_layers * (latent_dim + rope_dim) * bytes_per_number


def l2_7_ratio(n_heads, head_dim, latent_dim, rope_dim):
    return 2 * n_heads * head_dim / (latent_dim + rope_dim)


def l2_10_swiglu_bytes(tokens, d_ff, n_layers, bytes_per_number):
    # read gate, read up, write
    return 3 * tokens * d_ff * bytes_per_number * n_layers


def l2_10_norm_bytes(tokens, d_model, n_layers, bytes_per_number):
    # two norms, each reads and writes
    return 2 * 2 * tokens * d_model * bytes_per_number * n_layers


def d3_3_query_length(d_model, n_heads):
    return d_model // n_heads


def d3_3_w_q_of_one_head(d_model, head_dim):
    return (d_model, head_dim)


def d3_3_w_q_of_the_layer(d_model, n_heads, head_dim):
    return (d_model, n_heads * head_dim)


def d3_4_growth(before, after):
    return (after / before) ** 2


def d3_7_first_of_the_output():
    return "0.64"


def d3_7_second_of_the_output():
    return "2.00"


def d3_prefill_shapes(tokens, d_model, n_heads, head_dim):
    return {
        "x": (tokens, d_model),
        "q": (tokens, n_heads * head_dim),
        "q_head": (tokens, head_dim),
        "k_head": (tokens, head_dim),
        "v_head": (tokens, head_dim),
        "scores": (tokens, tokens),
        "weights": (tokens, tokens),
        "head_output": (tokens, head_dim),
        "concatenated": (tokens, n_heads * head_dim),
        "output": (tokens, d_model),
    }


def d3_decode_shapes(past, d_model, n_heads, head_dim):
    return {
        "x": (1, d_model),
        "q": (1, n_heads * head_dim),
        "q_head": (1, head_dim),
        "k_head": (past + 1, head_dim),
        "v_head": (past + 1, head_dim),
        "scores": (1, past + 1),
        "weights": (1, past + 1),
        "head_output": (1, head_dim),
        "concatenated": (1, n_heads * head_dim),
        "output": (1, d_model),
    }
