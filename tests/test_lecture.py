"""`python -m reference_model.lecture`: every table is made, and every plot is a picture."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.accounting import LLAMA31_8B, generation_flops
from reference_model.laboratory import causality, decoding, lookup, pooling, positions, saturation
from reference_model.laboratory.savings import saving

pytest.importorskip("rich", reason="the lecture needs rich")
pytest.importorskip("typer", reason="the lecture needs typer")

from reference_model.lecture.table import all_tables, texts

# Figures that the document prints, as the tables show them.
PRINTED = {
    "temperature": ("0.665", "0.867", "0.506"),
    "word2vec-cost": ("502,505,000", "2,515,000", "25,500"),
    "parameters": ("824,448", "757,760"),
    "prefill": ("3.69", "32.2 ms"),
    "decode-alone": ("3.37", "0.80", "0.31"),
    "batched-decode": ("31.1", "169", "6,074"),
    "gqa-intensity": ("7.53", "7.94", "8.00"),
    "what-a-cache-saves": ("4,248 times",),
    "analogies": ("100%", "throne", "palace"),
    "variants": ("131",),
}


@pytest.mark.parametrize("name", all_tables())
def test_a_table_has_its_rows_and_figures(name):
    made = all_tables()[name]()
    assert made.rows and all(len(row) == len(made.columns) for row in made.rows)
    shown = " ".join([*(cell for row in made.rows for cell in row), made.note])
    assert "nan" not in shown
    for figure in PRINTED.get(name, ()):
        assert figure in shown


def test_numbers_as_texts():
    assert texts([(0.12345, 1234567, 2684.35, "a", True, 12.0)]) == [
        ("0.123", "1,234,567", "2,684", "a", "yes", "12")
    ]


def test_an_unknown_table_is_named():
    command = [sys.executable, "-m", "reference_model.lecture", "entropy"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 2
    assert "entropy" in done.stdout and "roofline" not in done.stderr
    assert "Traceback" not in done.stderr


def test_plots_are_pictures(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    from reference_model.lecture.plots import PLOTS, write_plots

    paths = write_plots(tmp_path / "plots")
    assert [path.stem for path in paths] == list(PLOTS)
    for path in paths:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 10_000


# ---- The experiments of L2 §2, §5 and §6, by the bounds that the document states

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_a_soft_lookup_is_a_lookup_when_cold_and_a_mean_when_hot(seed):
    """L2 §2.2: values 10 to 50, a query like key 2."""
    cold, *_, hot = lookup.lookup_table((1e-3, 1.0, 1e6), seed)
    assert cold[1].max() > 0.999
    assert hot[2] == pytest.approx(30, abs=1e-3)


def test_unscaled_scores_saturate():
    """L2 §2.4: at d = 1024 the largest weight is about 0.96, the Jacobian falls from 0.30 to 0.06;
    with the scale neither depends on d."""
    unscaled = {d: saturation.saturation(d, scaled=False) for d in (16, 1024)}
    assert unscaled[1024].largest_weight == pytest.approx(0.96, abs=0.03)
    assert unscaled[16].jacobian_norm == pytest.approx(0.30, abs=0.02)
    assert unscaled[1024].jacobian_norm == pytest.approx(0.06, abs=0.03)
    scaled = [saturation.saturation(d, scaled=True) for d in (16, 64, 1024)]
    assert np.ptp([row.largest_weight for row in scaled]) < 0.02
    assert np.ptp([row.jacobian_norm for row in scaled]) < 0.01


@given(SEEDS)
def test_the_mask_keeps_what_comes_before(seed):
    """L2 §2.5: exactly nothing changes before the changed token; without the mask all does."""
    masked, unmasked = (causality.change_of_outputs(m, seed=seed) for m in (True, False))
    assert masked[:5].max() == 0 < masked[5:].min()
    assert unmasked.min() > 0


@given(SEEDS)
def test_order_is_invisible_without_positions(seed):
    """L2 §2.7 (a): about 5e-15."""
    assert positions.permutation_error(seed=seed) < 5e-14


@given(st.integers(0, 500))
def test_sinusoids_shift_by_rotation(offset):
    """L2 §2.7 (b): 1e-15; the angles themselves, up to 500, round to 1e-13."""
    assert positions.linearity_error(offset) < 5e-13


@given(SEEDS)
def test_rotations_see_differences_only(seed):
    """L2 §2.7 (c)."""
    scores = positions.relative_scores(seed=seed)
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-9)


def test_a_previous_token_head():
    """L2 §2.7 (d): more than 0.98 on the token before, at 3, 7 and 11."""
    weights = positions.previous_token_weights()
    assert all(weights[i, i - 1] > 0.98 for i in (3, 7, 11))


@pytest.mark.slow
def test_decode_correctness():
    """L2 §5.3: rounding only, or wrong from step 1 on, with step 0 right and nothing raised."""
    correct, forgotten, position = decoding.decode_table()
    assert correct.errors.max() < 1e-13
    assert correct.same_tokens == 24
    for bug in (forgotten, position):
        assert bug.errors[0] < 1e-13
        assert bug.errors[1:].min() > 0.1
        assert bug.same_tokens < 12


@pytest.mark.slow
def test_what_a_cache_saves_grows_with_the_text():
    """L2 §5.4: counted while both ways run and write the same text."""
    short, long = saving(4), saving(12)
    assert 3 < short.flops_ratio < 4 and 9 < long.flops_ratio < 12
    flops = [generation_flops(LLAMA31_8B, 64, n, cached=False) for n in (512, 1024)]
    cached = [generation_flops(LLAMA31_8B, 64, n, cached=True) for n in (512, 1024)]
    assert flops[1] / flops[0] > 3.4  # a square in the end
    assert cached[1] / cached[0] < 2  # a line


@settings(max_examples=10)
@given(SEEDS, st.sampled_from((1, 2, 4)))
def test_pooling_equal_heads_loses_nothing(seed, n_kv_heads):
    """L2 §6.3, first row."""
    exact = pooling.pooled_model(1.0, n_kv_heads, seed)
    assert abs(exact.kl) < 1e-12
    assert exact.agreement == 1


def test_pooling_loses_more_the_less_alike_the_heads_and_the_larger_the_group():
    """L2 §6.3."""
    results = pooling.pooling_table(correlations=(0.9, 0.5, 0.0), seeds=range(2))
    kl = np.array([result.kl for result in results]).reshape(3, 3)
    agreement = np.array([result.agreement for result in results]).reshape(3, 3)
    assert (np.diff(kl, axis=0) > 0).all() and (np.diff(kl, axis=1) > 0).all()
    assert (np.diff(agreement, axis=0) < 0).all()
