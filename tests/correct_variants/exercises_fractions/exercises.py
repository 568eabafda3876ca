"""Formulas as exact fractions and decimals, from a factory; numbers written as people do."""

from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction


def _product(*names, times=1):
    """A function of named arguments that multiplies these and ignores the others."""

    def formula(**sizes):
        result = Fraction(times)
        for name in names:
            result *= sizes[name]
        return result

    return formula


l2_1_kv_bytes_per_token = _product("n_layers", "n_heads", "head_dim", "bytes_per_number", times=2)
l2_5_kv_bytes = _product(
    "sequences", "context", "n_layers", "n_kv_heads", "head_dim", "bytes_per_number", times=2
)
l2_10_swiglu_bytes = _product("tokens", "d_ff", "n_layers", "bytes_per_number", times=3)
l2_10_norm_bytes = _product("tokens", "d_model", "n_layers", "bytes_per_number", times=4)


def l2_1_parameters(**sizes):
    layers, d, f, v = (sizes[n] for n in ("n_layers", "d_model", "d_ff", "vocab_size"))
    return Decimal(layers * (4 * d * d + 3 * d * f + 2 * d) + 2 * v * d + d)


def l2_1_attention_share(**sizes):
    return sizes["n_layers"] * 4 * sizes["d_model"] ** 2 / l2_1_parameters(**sizes)


def l2_2_negative_sampling(window, dim, n_negative):
    return Fraction(window) * dim * (n_negative + 2)


def l2_2_full_softmax(window, dim, vocab_size):
    return Decimal(window) * dim * (vocab_size + 1)


def l2_2_ratio(window, dim, n_negative, vocab_size):
    return Fraction(vocab_size + 1, n_negative + 2)


def l2_3_einsum_flops():
    return "80_640 FLOPs"


def l2_4_intensity(n_heads, n_kv_heads, context):
    return 1 / (Fraction(n_kv_heads, n_heads) + Fraction(1, context))


def l2_5_against_weights(n_params, **sizes):
    return l2_5_kv_bytes(bytes_per_number=1, **sizes) / n_params


def _of_lengths(tokens, pairs, sizes):
    heads = sizes["n_heads"] * sizes["head_dim"]
    kv_heads = sizes["n_kv_heads"] * sizes["head_dim"]
    layer = 2 * sizes["d_model"] * (heads + kv_heads) + 3 * sizes["d_model"] * sizes["d_ff"]
    matrices = sizes["n_layers"] * layer + sizes["d_model"] * sizes["vocab_size"]
    return 2 * matrices * tokens + 4 * sizes["n_layers"] * heads * pairs


def l2_6_with_cache(prompt, new_tokens, **sizes):
    n = prompt + new_tokens - 1
    return Fraction(_of_lengths(n, n * (n + 1) // 2, sizes))


def l2_6_without_cache(prompt, new_tokens, **sizes):
    passes = range(prompt, prompt + new_tokens)
    return sum(_of_lengths(Decimal(n), Decimal(n * (n + 1)) / 2, sizes) for n in passes)


def l2_6_ratio(**sizes):
    return Fraction(l2_6_without_cache(**sizes)) / l2_6_with_cache(**sizes)


def l2_7_mla_bytes_per_token(n_layers, latent_dim, rope_dim, bytes_per_number):
    return Decimal(n_layers * bytes_per_number) * (latent_dim + rope_dim)


def l2_7_ratio(n_heads, head_dim, latent_dim, rope_dim):
    return Fraction(2 * n_heads * head_dim, latent_dim + rope_dim)


def d3_3_query_length(d_model, n_heads):
    return Fraction(d_model, n_heads)


def d3_3_w_q_of_one_head(d_model, head_dim):
    return [d_model, head_dim]


def d3_3_w_q_of_the_layer(d_model, n_heads, head_dim):
    return d_model, n_heads * head_dim


def d3_4_growth(before, after):
    return Fraction(after, before) ** 2


def d3_7_first_of_the_output():
    return "0.64"


def d3_7_second_of_the_output():
    return "2.0"


def _shapes(queries, keys, d_model, n_heads, head_dim):
    shapes = OrderedDict(x=(queries, d_model), output=(queries, d_model))
    shapes["q"] = shapes["concatenated"] = [queries, n_heads * head_dim]
    shapes["q_head"] = shapes["head_output"] = [queries, head_dim]
    shapes["k_head"] = shapes["v_head"] = [keys, head_dim]
    shapes["scores"] = shapes["weights"] = [queries, keys]
    return shapes


def d3_prefill_shapes(tokens, **sizes):
    return _shapes(tokens, tokens, **sizes)


def d3_decode_shapes(past, **sizes):
    return _shapes(1, past + 1, **sizes)
