"""Accounts against the running model, and against every figure of L2 §4 to §6 and its exercises."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_model import ModelConfig, init_llama, llama_logits, param_shapes
from reference_model.accounting import (
    DEEPSEEK_V3_ATTENTION,
    GROUPS,
    H100,
    LLAMA2_7B,
    LLAMA31_8B,
    LLAMA31_70B,
    SMALL,
    CountedModel,
    Work,
    analytic_ops,
    attention_equals_matmuls,
    decode_intensity,
    decode_intensity_cap,
    decode_step_seconds,
    einsum,
    einsum_flops,
    generation_flops,
    gqa_core,
    gqa_intensity,
    measure_this_cpu,
    mla_absorbed_core,
    mla_expanded_core,
    prefill_seconds,
    seconds,
    seconds_one_by_one,
    total,
)

MILLISECOND = 1e-3


@st.composite
def configs(draw) -> ModelConfig:
    n_kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return ModelConfig(
        "random",
        n_layers=draw(st.integers(1, 3)),
        d_model=draw(st.integers(1, 9)),
        n_heads=n_kv_heads * group,
        n_kv_heads=n_kv_heads,
        head_dim=2 * draw(st.integers(1, 3)),
        d_ff=draw(st.integers(1, 9)),
        vocab_size=draw(st.integers(2, 9)),
        tied=draw(st.booleans()),
    )


def tokens(config: ModelConfig, batch: int, length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(config.vocab_size, size=(batch, length))


@given(configs(), st.integers(1, 3), st.integers(1, 5), st.integers(0, 4), st.booleans())
def test_the_formulas_are_what_the_running_model_counts(config, batch, new, past, last_only):
    model = CountedModel(config, init_llama(config, seed=0))
    text = tokens(config, batch, past + new)
    if past:
        model.forward(text[:, :past])
    model.counter.reset()
    logits = model.forward(text[:, past:], last_only)
    assert model.counter.works == analytic_ops(config, batch, new, past, last_only)
    expected = llama_logits(config, model.params, text)[:, past:]
    np.testing.assert_allclose(logits, expected[:, -1:] if last_only else expected, 1e-12, 1e-12)


@given(configs())
def test_parameters_are_the_numbers_in_the_arrays(config):
    params = init_llama(config, seed=0)
    assert config.n_params() == sum(array.size for array in params.values())
    work = total(analytic_ops(config, 1, 1, 0).values())
    core = analytic_ops(config, 1, 1, 0)["attention"]
    assert work.useful_flops - core.useful_flops == 2 * config.matmul_params()
    assert work.weight_bytes == 2 * config.matmul_params()


def group(ops: dict[str, Work], name: str) -> Work:
    return total(ops[op] for op in GROUPS[name])


def milliseconds(ops: dict[str, Work], name: str) -> float:
    return sum(seconds(ops[op], H100) for op in GROUPS[name]) / MILLISECOND


def test_the_small_model():
    """L2 §4.2: 40,960 and 132,096 a layer, 824,448 in all, 757,760 multiplied."""
    shapes = param_shapes(SMALL)
    attention = sum(np.prod(shapes[f"layers.0.{name}"]) for name in GROUPS["attention projections"])
    mlp = sum(np.prod(shapes[f"layers.0.{name}"]) for name in GROUPS["MLP"])
    assert (attention, mlp) == (40_960, 132_096)
    assert (SMALL.n_params(), SMALL.matmul_params()) == (824_448, 757_760)


def test_elementwise_bytes_of_the_small_prefill():
    """L2 §4.3: 2.76 MB, more than the MLP's weights of 1.06 MB."""
    ops = analytic_ops(SMALL, 1, 128, 0)
    assert group(ops, "elementwise").bytes == pytest.approx(2.76e6, rel=2e-3)
    assert group(ops, "MLP").weight_bytes == pytest.approx(1.06e6, rel=4e-3)


def test_one_layer_of_the_8b_model():
    """L2 §3.5: 962.1 G FLOPs, T = 2048."""
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0)
    of_layers = total(ops.values()).flops - ops["lm_head"].flops
    assert of_layers / LLAMA31_8B.n_layers == pytest.approx(962.1e9, rel=5e-5)


def test_lm_head_is_6_5_percent_of_the_8b_model():
    """L2 §1.8."""
    head = LLAMA31_8B.vocab_size * LLAMA31_8B.d_model
    assert head / LLAMA31_8B.n_params() == pytest.approx(0.065, abs=5e-4)


def test_prefill_table():
    """L2 §4.5 and exercise 10: 12.35 GB and 3.69 ms of elementwise work, intensities above 1000.

    Item by item the document has 34.1 ms; these conventions give 34.02 (see docs/figures.md).
    """
    ops = analytic_ops(LLAMA31_8B, 1, 2048, 0, last_only=True)
    gigabytes = {name: ops[name].bytes / 1e9 for name in GROUPS["elementwise"]}
    assert gigabytes == pytest.approx(
        {"swiglu": 5.64, "residual": 3.22, "norm": 2.15, "rope": 1.34}, abs=5e-3
    )
    assert group(ops, "elementwise").bytes == pytest.approx(12.35e9, rel=5e-4)
    assert milliseconds(ops, "elementwise") == pytest.approx(3.69, abs=5e-3)
    assert group(ops, "MLP").intensity > 1000
    assert prefill_seconds(LLAMA31_8B, 2048, H100) / MILLISECOND == pytest.approx(32.2, abs=0.05)
    assert seconds_one_by_one(ops, H100) / MILLISECOND == pytest.approx(34.02, abs=5e-3)
    head = total([analytic_ops(LLAMA31_8B, 1, 2048, 0)["lm_head"]])
    assert head.flops / H100.flops / MILLISECOND == pytest.approx(2.2, abs=0.05)


def test_decode_tables():
    """L2 §4.5: 3.37, 0.80 and 0.31 ms at batch 1; 5.1 against 3.4 ms and intensity 4.0 at 64."""
    alone = analytic_ops(LLAMA31_8B, 1, 1, 2047)
    assert milliseconds(alone, "MLP") == pytest.approx(3.37, abs=5e-3)
    assert milliseconds(alone, "attention projections") == pytest.approx(0.80, abs=5e-3)
    assert milliseconds(alone, "lm_head") == pytest.approx(0.31, abs=5e-3)
    assert all(1 <= round(group(alone, name).intensity, 1) <= 4 for name in list(GROUPS)[:4])
    many = analytic_ops(LLAMA31_8B, 64, 1, 2047)
    assert milliseconds(many, "attention core") == pytest.approx(5.1, abs=0.05)
    assert milliseconds(many, "MLP") == pytest.approx(3.4, abs=0.05)
    assert round(group(many, "attention core").intensity, 1) == 4.0
    assert group(many, "MLP").intensity == pytest.approx(60, abs=5)
    share = group(many, "attention core").useful_flops / total(many.values()).useful_flops
    assert share == pytest.approx(0.07, abs=5e-3)


def test_the_ridge_of_an_h100():
    """L2 §4.5."""
    assert round(H100.ridge) == 295


def test_batched_decode_has_a_cap():
    """L2 §5.6: 31.1 at batch 1024, 169 ms, 6,074 tokens/s, 8 % more than at 256; cap about 32."""
    step = decode_step_seconds(LLAMA31_8B, 1024, 4096, H100)
    assert decode_intensity(LLAMA31_8B, 1024, 4096) == pytest.approx(31.1, abs=0.05)
    assert step / MILLISECOND == pytest.approx(169, abs=0.5)
    assert round(1024 / step) == 6_074
    at_256 = 256 / decode_step_seconds(LLAMA31_8B, 256, 4096, H100)
    assert (1024 / step) / at_256 == pytest.approx(1.08, abs=5e-3)
    assert decode_intensity_cap(LLAMA31_8B, 4096) == pytest.approx(32, abs=0.05)


@given(configs(), st.integers(1, 64), st.integers(2, 64))
def test_intensity_grows_with_the_batch_and_stays_below_its_cap(config, batch, context):
    one, more = (decode_intensity(config, n, context) for n in (batch, batch + 1))
    assert one < more < decode_intensity_cap(config, context) * (1 + 1e-12)


def test_what_a_cache_saves():
    """L2 exercise 6: 64.2 TFLOP, 94.9 PFLOP, 1,480 times; §5.4: about 4,200 times."""
    with_cache = generation_flops(LLAMA31_8B, 2000, 2000, cached=True)
    without = generation_flops(LLAMA31_8B, 2000, 2000, cached=False)
    assert with_cache == pytest.approx(64.2e12, rel=1e-3)
    assert without == pytest.approx(94.9e15, rel=1e-3)
    assert without / with_cache == pytest.approx(1480, rel=2e-3)
    longer = [generation_flops(LLAMA31_8B, 1000, 8000, cached) for cached in (False, True)]
    assert longer[0] / longer[1] == pytest.approx(4200, rel=0.012)


def test_exercise_1():
    """17.44 B parameters, attention 24.6 %, 512 KiB of int8 cache a token."""
    config = ModelConfig("q1", 64, 4096, 32, 32, 128, 16384, 32000)
    assert config.n_params() == pytest.approx(17.44e9, rel=3e-4)
    assert 64 * 4 * 4096**2 / config.n_params() == pytest.approx(0.246, abs=5e-4)
    assert config.kv_bytes_per_token(1) == 512 * 1024


def test_exercise_3():
    """80,640, and the rule's refusals."""
    assert einsum_flops("ijkl,ijmno->klmno", (2, 3, 4, 5), (2, 3, 6, 7, 8)) == 80_640
    assert doctest.testmod(einsum).failed == 0


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ab,bc->ac", [(2, 3), (4, 5)]),
        ("ab,bc->ac", [(2, 3)]),
        ("ab,bc->ac", [(2, 3), (3, 4, 5)]),
        ("ab,bc->ad", [(2, 3), (3, 4)]),
        ("ab->ab", [(2, 3)]),
        ("...a,ab->b", [(2, 3), (3, 4)]),
        ("ab,bc", [(2, 3), (3, 4)]),
    ],
)
def test_contractions_that_make_no_sense_are_refused(spec, shapes):
    with pytest.raises(ValueError):
        einsum_flops(spec, *shapes)


def test_exercise_4():
    """7.53, 7.94 and 8.00, and what the account of the whole step says."""
    values = [gqa_intensity(8, context) for context in (128, 1024, 32768)]
    assert [round(value, 2) for value in values] == [7.53, 7.94, 8.00]
    for context, value in zip((128, 1024, 32768), values, strict=True):
        core = analytic_ops(LLAMA31_70B, 3, 1, context - 1)["attention"]
        assert core.intensity == pytest.approx(value)


def test_exercise_5():
    """85.9 and 171.8 GB; the FP8 weights are 70.6 GB."""
    for bytes_per_number, gigabytes in ((1, 85.9), (2, 171.8)):
        per_token = LLAMA31_70B.kv_bytes_per_token(bytes_per_number)
        assert 4 * 131_072 * per_token / 1e9 == pytest.approx(gigabytes, abs=0.05)
    assert LLAMA31_70B.n_params() / 1e9 == pytest.approx(70.6, abs=0.05)


def test_cache_as_large_as_the_weights():
    """L2 §5.5: about 120,000 tokens; eight sequences of 128K are eight times the weights."""
    weights = 2 * LLAMA31_8B.n_params()
    per_token = LLAMA31_8B.kv_bytes_per_token()
    assert weights / per_token == pytest.approx(120_000, rel=0.03)
    assert 8 < 8 * 131_072 * per_token / weights < 9


def test_exercise_7_and_the_latent_cache():
    """68.6 and 34.3 KiB against 3.81 MiB: 57 times; 2.25 groups; 131 GB for one MHA sequence."""
    latent = DEEPSEEK_V3_ATTENTION
    assert latent.kv_bytes_per_token() / 1024 == pytest.approx(68.6, abs=0.05)
    assert latent.kv_bytes_per_token(1) / 1024 == pytest.approx(34.3, abs=0.05)
    mha = 2 * 61 * 128 * 128 * 2
    assert mha / 2**20 == pytest.approx(3.81, abs=5e-3)
    assert mha / latent.kv_bytes_per_token() == pytest.approx(57, abs=0.2)
    assert (latent.latent_dim + latent.rope_dim) / (2 * 128) == 2.25
    assert mha * 32_768 / 1e9 == pytest.approx(131, abs=0.1)


def test_absorption():
    """L2 §6.4: bytes 1/71 of MHA's, FLOPs 3.4 times, intensity about 240; expanding: hundreds."""
    context = 32_768
    mha = gqa_core(128, 128, 128 + 64, 128, context)
    absorbed = mla_absorbed_core(DEEPSEEK_V3_ATTENTION, context)
    expanded = mla_expanded_core(DEEPSEEK_V3_ATTENTION, context)
    assert round(mha.cache_bytes / absorbed.cache_bytes) == 71
    assert absorbed.flops / mha.flops == pytest.approx(3.4, abs=0.05)
    assert absorbed.intensity == pytest.approx(240, rel=0.02)
    assert 100 < expanded.flops / mha.flops < 1000
    assert expanded.cache_bytes == absorbed.cache_bytes


def test_four_variants_side_by_side():
    """L2 §6.5: MLA alone nearly balances reading and computing, at over 4 times the computing."""
    latent = mla_absorbed_core(DEEPSEEK_V3_ATTENTION, 32_768)
    reading, computing = latent.seconds(H100, batch=32, n_layers=61)
    assert computing / reading == pytest.approx(0.82, abs=0.02)
    for n_kv_heads in (128, 8, 1):
        core = gqa_core(128, n_kv_heads, 128, 128, 32_768)
        assert core.intensity == pytest.approx(128 / n_kv_heads)
        assert 4 < computing / core.seconds(H100, batch=32, n_layers=61)[1] < 4.5
    bytes_of = [gqa_core(128, groups, 128, 128, 1).cache_bytes for groups in (8, 1)]
    assert bytes_of[1] < latent.cache_bytes / 32_768 < bytes_of[0]


def test_attention_overtakes_the_matrices():
    """L2 §4.4: there both take the same FLOPs, and larger models get there later."""
    for config in (LLAMA31_8B, LLAMA31_70B):
        context = attention_equals_matmuls(config)
        ops = analytic_ops(config, 1, 1, round(context) - 1)
        matmuls = total(ops.values()).useful_flops - ops["attention"].useful_flops
        assert ops["attention"].useful_flops == pytest.approx(matmuls, rel=1e-4)
    assert attention_equals_matmuls(LLAMA31_8B) < attention_equals_matmuls(LLAMA31_70B)


def test_heads_cost_nothing():
    """L2 §2.6: d = 512, T = 1024, any number of heads; fewer K/V groups leave the core as it is."""
    cores = set()
    for n_heads in (1, 2, 4, 8, 16, 32):
        config = ModelConfig("heads", 1, 512, n_heads, n_heads, 512 // n_heads, 1, 2)
        ops = analytic_ops(config, 1, 1024, 0)
        cores.add((ops["attention"].flops, group(ops, "attention projections").flops))
    assert len(cores) == 1
    shared = analytic_ops(ModelConfig("mqa", 1, 512, 8, 1, 64, 1, 2), 1, 1024, 0)
    assert shared["attention"].flops == next(iter(cores))[0]
    assert group(shared, "attention projections").flops < next(iter(cores))[1]


def test_llama_2_7b():
    """D3: four square matrices, 67.1 M a layer; 32 heads of 128."""
    shapes = param_shapes(LLAMA2_7B)
    of_layer = [shapes[f"layers.0.{name}"] for name in GROUPS["attention projections"]]
    assert of_layer == [(4096, 4096)] * 4
    assert sum(np.prod(shape) for shape in of_layer) == pytest.approx(67.1e6, rel=1e-3)


def test_this_cpu_has_a_ridge():
    """Measured, so only its order is certain."""
    cpu = measure_this_cpu(megabytes=8, size=128, repeats=2)
    assert 1e8 < cpu.flops < 1e14
    assert 1e8 < cpu.bandwidth < 1e13
