"""The exercises of Lecture 2: their answers by the reference's accounts, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reference_model.accounting import (
    analytic_ops,
    einsum_flops,
    generation_flops,
    generation_passes,
    gqa_intensity,
    total,
)
from reference_model.config import MLAConfig, ModelConfig
from reference_model.word2vec.cost import training_cost

from .question import Formula, Values

Of = Callable[..., float]

# --- exercise 1: parameters -----------------------------------------------------------------------


def _model(
    n_layers: int = 1,
    d_model: int = 2,
    n_heads: int = 1,
    n_kv_heads: int = 1,
    head_dim: int = 2,
    d_ff: int = 1,
    vocab_size: int = 1,
) -> ModelConfig:
    return ModelConfig("", n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size)


def _n_params(**sizes: int) -> int:
    """With multi-head attention as wide as the model: how many heads there are does not matter."""
    return _model(head_dim=sizes["d_model"], **sizes).n_params()


def _less(tables: int = 0, mlp_matrices: int = 0) -> Of:
    """Parameters without some of the matrices."""

    def count(**sizes: int) -> int:
        table = sizes["vocab_size"] * sizes["d_model"]
        matrix = sizes["n_layers"] * sizes["d_model"] * sizes["d_ff"]
        return _n_params(**sizes) - tables * table - mlp_matrices * matrix

    return count


def _share(of: Of, matrices: int = 4) -> Of:
    return lambda **sizes: matrices * sizes["n_layers"] * sizes["d_model"] ** 2 / of(**sizes)


def _times(answer: Of, of: Callable[..., float]) -> Of:
    """The answer times a factor that depends on the sizes."""
    return lambda **sizes: answer(**sizes) * of(sizes)


def _kv_bytes(n_layers: int, n_heads: int, head_dim: int, bytes_per_number: int) -> int:
    model = _model(n_layers=n_layers, n_kv_heads=n_heads, n_heads=n_heads, head_dim=head_dim)
    return model.kv_bytes_per_token(bytes_per_number)


def _always_two_bytes(answer: Of) -> Of:
    return _times(answer, lambda sizes: 2 / sizes["bytes_per_number"])


def _one_layer(answer: Of) -> Of:
    return _times(answer, lambda sizes: 1 / sizes["n_layers"])


def _half(answer: Of) -> Of:
    return _times(answer, lambda sizes: 1 / 2)


def _upside_down(answer: Of) -> Of:
    return lambda **sizes: 1 / answer(**sizes)


PARAMETERS = {
    "l2_1_parameters": Formula(
        _n_params,
        {
            "two_mlp_matrices": _less(mlp_matrices=1),
            "one_table": _less(tables=1),
            "no_table": _less(tables=2),
        },
    ),
    "l2_1_attention_share": Formula(
        _share(_n_params),
        {
            "no_table": _share(_less(tables=2)),
            "one_table": _share(_less(tables=1)),
            "two_mlp_matrices": _share(_less(mlp_matrices=1)),
            "one_of_four_matrices": _share(_n_params, matrices=1),
        },
    ),
    "l2_1_kv_bytes_per_token": Formula(
        _kv_bytes,
        {
            "one_of_k_and_v": _half(_kv_bytes),
            "always_two_bytes": _always_two_bytes(_kv_bytes),
            "one_layer": _one_layer(_kv_bytes),
            "one_head_of_the_cache": _times(_kv_bytes, lambda sizes: 1 / sizes["n_heads"]),
        },
    ),
}

# --- exercise 2: word2vec -------------------------------------------------------------------------


def _negative(window: int, dim: int, n_negative: int, vocab_size: int = 0) -> int:
    name = "skip-gram, negative sampling"
    return training_cost(name, window=window, dim=dim, n_negative=n_negative)


def _softmax(window: int, dim: int, vocab_size: int, n_negative: int = 0) -> int:
    name = "skip-gram, full softmax"
    return training_cost(name, window=window, dim=dim, vocabulary=vocab_size)


def _ratio(**sizes: int) -> float:
    return _softmax(**sizes) / _negative(**sizes)


def _one_context_word(answer: Of) -> Of:
    return _times(answer, lambda sizes: 1 / sizes["window"])


COST_OF_TRAINING = {
    "l2_2_negative_sampling": Formula(
        _negative,
        {
            "one_vector_missing": lambda **s: s["window"] * s["dim"] * (s["n_negative"] + 1),
            "center_word_counted_once": lambda **s: (
                s["dim"] + s["window"] * s["dim"] * (s["n_negative"] + 1)
            ),
            "one_context_word": _one_context_word(_negative),
        },
    ),
    "l2_2_full_softmax": Formula(
        _softmax,
        {
            "one_context_word": _one_context_word(_softmax),
            "number_of_words": lambda **s: s["window"] * s["vocab_size"],
            "center_word_left_out": lambda **s: s["window"] * s["dim"] * s["vocab_size"],
        },
    ),
    "l2_2_ratio": Formula(
        _ratio,
        {
            "upside_down": _upside_down(_ratio),
            "v_over_k": lambda **s: s["vocab_size"] / s["n_negative"],
        },
    ),
}

# --- exercise 4: intensity ------------------------------------------------------------------------


def _intensity(n_heads: int, n_kv_heads: int, context: int) -> float:
    return gqa_intensity(n_heads // n_kv_heads, context)


INTENSITY = {
    "l2_4_intensity": Formula(
        _intensity,
        {
            "all_query_heads": lambda **s: gqa_intensity(s["n_heads"], s["context"]),
            "bytes_per_flop": _upside_down(_intensity),
            "limit_of_a_long_context": lambda **s: s["n_heads"] // s["n_kv_heads"],
            "without_multiply_add": _half(_intensity),
        },
    ),
}

# --- exercise 5: the cache of long contexts -------------------------------------------------------


def _cache_bytes(sequences: int, context: int, n_kv_heads: int, **sizes: int) -> int:
    return sequences * context * _kv_bytes(n_heads=n_kv_heads, **sizes)


def _against_weights(n_params: int, **sizes: int) -> float:
    return _cache_bytes(bytes_per_number=2, **sizes) / (2 * n_params)


def _one_sequence(answer: Of) -> Of:
    return _times(answer, lambda sizes: 1 / sizes["sequences"])


KV_CAPACITY = {
    "l2_5_kv_bytes": Formula(
        _cache_bytes,
        {
            "one_of_k_and_v": _half(_cache_bytes),
            "one_sequence": _one_sequence(_cache_bytes),
            "one_layer": _one_layer(_cache_bytes),
            "always_two_bytes": _always_two_bytes(_cache_bytes),
        },
    ),
    "l2_5_against_weights": Formula(
        _against_weights,
        {
            "upside_down": _upside_down(_against_weights),
            "one_of_k_and_v": _half(_against_weights),
            "one_sequence": _one_sequence(_against_weights),
            "bytes_for_numbers": _times(_against_weights, lambda sizes: 2),
        },
    ),
}

# --- exercise 6: what a cache saves ---------------------------------------------------------------


def _generation(cached: bool, last_only: bool = False, useful: bool = True) -> Of:
    """FLOPs of a generation, by this convention or that."""

    def count(prompt: int, new_tokens: int, **sizes: int) -> int:
        model = _model(**sizes)
        if useful and not last_only:
            return generation_flops(model, prompt, new_tokens, cached)
        passes = generation_passes(prompt, new_tokens, cached)
        works = [total(analytic_ops(model, 1, *one, last_only).values()) for one in passes]
        return sum(work.useful_flops if useful else work.flops for work in works)

    return count


def _matrices_only(cached: bool, embedding_too: bool = False) -> Of:
    def count(prompt: int, new_tokens: int, **sizes: int) -> int:
        model = _model(**sizes)
        n_params = model.n_params() if embedding_too else model.matmul_params()
        n_tokens = sum(new for new, _ in generation_passes(prompt, new_tokens, cached))
        return 2 * n_params * n_tokens

    return count


def _sum(*answers: tuple[int, Of]) -> Of:
    """Counts added, each with its sign."""
    return lambda **sizes: sum(sign * answer(**sizes) for sign, answer in answers)


def _mistakes_of_generation(cached: bool) -> dict[str, Of]:
    true, matrices = _generation(cached), _matrices_only(cached)
    return {
        "without_attention_core": matrices,
        "all_parameters": _sum((1, true), (-1, matrices), (1, _matrices_only(cached, True))),
        "last_logits_only": _generation(cached, last_only=True),
        "masked_scores_too": _generation(cached, useful=False),
        "without_multiply_add": _half(true),
    }


def _quotient(above: Of, below: Of) -> Of:
    return lambda **sizes: above(**sizes) / below(**sizes)


CACHED, UNCACHED = _generation(cached=True), _generation(cached=False)


def _prefill(new_tokens: int, **sizes: int) -> float:
    return UNCACHED(new_tokens=1, **sizes)


GENERATION = {
    "l2_6_with_cache": Formula(
        CACHED,
        _mistakes_of_generation(True)
        | {
            "prefill_missing": _sum((1, CACHED), (-1, _prefill)),
            "one_step_too_many": lambda new_tokens, **s: CACHED(new_tokens=new_tokens + 1, **s),
        },
    ),
    "l2_6_without_cache": Formula(
        UNCACHED,
        _mistakes_of_generation(False)
        | {"sequence_does_not_grow": _times(_prefill, lambda sizes: sizes["new_tokens"])},
    ),
    "l2_6_ratio": Formula(
        _quotient(UNCACHED, CACHED),
        {
            "upside_down": _quotient(CACHED, UNCACHED),
            "without_attention_core": _quotient(_matrices_only(False), _matrices_only(True)),
            "last_logits_only": _quotient(
                _generation(False, last_only=True), _generation(True, last_only=True)
            ),
        },
    ),
}

# --- exercise 7: MLA ------------------------------------------------------------------------------


def _latent_bytes(n_layers: int, latent_dim: int, rope_dim: int, bytes_per_number: int) -> int:
    config = MLAConfig("", n_layers, 2, 1, latent_dim, 2, rope_dim, 2, None, 1, 1)
    return config.kv_bytes_per_token(bytes_per_number)


def _mha_by_mla(n_heads: int, head_dim: int, latent_dim: int, rope_dim: int) -> float:
    return _kv_bytes(1, n_heads, head_dim, 2) / _latent_bytes(1, latent_dim, rope_dim, 2)


def _cached_numbers(sizes: dict[str, int]) -> int:
    return sizes["latent_dim"] + sizes["rope_dim"]


LATENT_CACHE = {
    "l2_7_mla_bytes_per_token": Formula(
        _latent_bytes,
        {
            "no_rope_key": _times(_latent_bytes, lambda s: s["latent_dim"] / _cached_numbers(s)),
            "latent_twice": _times(
                _latent_bytes, lambda s: 1 + s["latent_dim"] / _cached_numbers(s)
            ),
            "one_layer": _one_layer(_latent_bytes),
            "always_two_bytes": _always_two_bytes(_latent_bytes),
        },
    ),
    "l2_7_ratio": Formula(
        _mha_by_mla,
        {
            "upside_down": _upside_down(_mha_by_mla),
            "one_of_k_and_v": _half(_mha_by_mla),
            "no_rope_key": _times(_mha_by_mla, lambda s: _cached_numbers(s) / s["latent_dim"]),
            "wide_keys": _times(_mha_by_mla, lambda s: 1 + s["rope_dim"] / (2 * s["head_dim"])),
        },
    ),
}

# --- exercise 10: what to fuse --------------------------------------------------------------------


def _elementwise(name: str) -> Of:
    def count(tokens: int, bytes_per_number: int, **sizes: int) -> int:
        ops = analytic_ops(_model(**sizes), 1, tokens, 0, bytes_per_number=bytes_per_number)
        return ops[name].activation_bytes

    return count


def _norm(**sizes: int) -> float:
    """Of the layers: what as many again add to the account, which has the final norm too."""
    count = _elementwise("norm")
    return count(**sizes | {"n_layers": 2 * sizes["n_layers"]}) - count(**sizes)


SWIGLU = _elementwise("swiglu")

FUSION = {
    "l2_10_swiglu_bytes": Formula(
        SWIGLU,
        {
            "two_of_three_arrays": _times(SWIGLU, lambda sizes: 2 / 3),
            "one_layer_of_work": _one_layer(SWIGLU),
            "always_two_bytes": _always_two_bytes(SWIGLU),
        },
    ),
    "l2_10_norm_bytes": Formula(
        _norm,
        {
            "half_of_the_norms": _half(_norm),
            "one_layer_of_work": _one_layer(_norm),
            "always_two_bytes": _always_two_bytes(_norm),
        },
    ),
}

FORMULAS = (
    PARAMETERS | COST_OF_TRAINING | INTENSITY | KV_CAPACITY | GENERATION | LATENT_CACHE | FUSION
)

# --- exercise 3: einsum ---------------------------------------------------------------------------


def _contraction() -> Values:
    true = einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8))
    wrong: Iterable[tuple[str, float]] = [
        ("without_multiply_add", true / 2),
        ("shared_axes_twice", true * 2 * 3),
        ("summed_axes_missing", true / (2 * 3)),
        ("size_of_the_result", true / (2 * 2 * 3)),
    ]
    return Values(true, list(wrong))


VALUES = {"l2_3_einsum_flops": _contraction()}
