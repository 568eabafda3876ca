"""`python -m reference_model.lecture`: every table is made, and every plot is a picture."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_model.accounting import LLAMA31_8B, generation_flops
from reference_model.laboratory import decoding, one_head, pooling, positions

pytest.importorskip("rich", reason="the lecture needs rich")
pytest.importorskip("typer", reason="the lecture needs typer")

from reference_model.lecture.figures import stale_lines
from reference_model.lecture.table import Figure, Table, all_tables, texts

# Figures that the document prints, as the tables show them.
PRINTED = {
    "temperature": ("0.665", "0.867", "0.506"),
    "word2vec-cost": ("502,505,000", "2,515,000"),
    "parameters": ("824,448", "757,760"),
    "prefill": ("3.69", "32.2 ms"),
    "decode-alone": ("3.37", "0.80", "0.31"),
    "batched-decode": ("31.1", "169", "6,074"),
    "gqa-intensity": ("7.53", "7.94", "8.00"),
    "what-a-cache-saves": ("4,248 times",),
    "analogies": ("100%", "throne", "palace"),
    "variants": ("131",),
    "exercises": ("25,500", "17.44 B"),
}


@pytest.fixture(scope="module")
def made_tables() -> dict[str, Table]:
    return {name: make() for name, make in all_tables().items()}


@pytest.mark.parametrize("name", all_tables())
def test_a_table_has_its_rows_and_figures(name, made_tables):
    made = made_tables[name]
    assert made.rows and all(len(row) == len(made.columns) for row in made.rows)
    shown = " ".join([*(cell for row in made.rows for cell in row), made.note])
    assert "nan" not in shown
    for figure in PRINTED.get(name, ()):
        assert figure in shown


def test_the_page_of_figures_is_not_stale(made_tables):
    assert stale_lines(made_tables) == [], "run python -m reference_model.lecture.figures"


def test_a_figure_that_differs_says_why(made_tables):
    figures = [figure for made in made_tables.values() for figure in made.figures]
    assert len(figures) > 100
    assert [f.what for f in figures if f.differs and not f.why] == []


# What the documents print and the tables do not: within which bounds, over draws and machines.
OTHERWISE = {
    ("prefill", "one by one"): (34.015, 34.02),
    ("what-a-cache-saves", "FLOPs of Llama-3.1-8B, 1000 + 8000 tokens"): (4247, 4248),
    ("mla", "absorbed: intensity"): (242.6, 242.8),
    ("by-hand", "token 3's output, first number"): (6.0166, 6.0168),
    ("analogies", "words of the corpus"): (160_000, 160_000),
    ("analogies", "mean cosine of the genders' differences"): (0.9, 0.97),
    ("saturation", "largest weight at d = 1024, unscaled"): (0.93, 0.96),
    ("saturation", "the same at d = 1024"): (0.06, 0.085),
    ("causal-leak", "largest change before it, without a mask"): (0.1, 2),
    ("dimension-and-data", "d = 5, 5,000 sentences here"): (45, 75),
    ("dimension-and-data", "d = 10, 5,000 sentences here"): (95, 100),
}
# And what they print and the tables do too, though it was long thought otherwise or never shown.
THE_SAME = {
    ("prefill", "the same, with K and V written for themselves"): "34.1 ms",
    ("what-a-cache-saves", "FLOPs at 256 tokens"): "139 times",
    ("positions", "q·k at (10005, 10002)"): "3.6432231984",
    ("einsums", "the nine together"): "962.1 GFLOP",
    ("attention-share", "T > ? D, MHA with F = 4 D"): "8 D",
}


@pytest.mark.parametrize("table, what", [*OTHERWISE, *THE_SAME])
def test_known_figures(table, what, made_tables):
    (figure,) = (f for f in made_tables[table].figures if f.what == what)
    if (table, what) in THE_SAME:
        assert figure.shown == figure.document == THE_SAME[table, what]
        assert not figure.differs
    else:
        low, high = OTHERWISE[table, what]
        assert low <= figure.here <= high


def test_with_hidden_flops_a_cache_saves_4647_times(made_tables):
    assert "4,647" in made_tables["what-a-cache-saves"].note


def test_counted_and_formula_rows_are_the_same(made_tables):
    """L2 §4.3: the counter of the running model against the formulas."""
    counted, by_formula = made_tables["one-pass"].rows[::2], made_tables["one-pass"].rows[1::2]
    assert [row[2:] for row in counted] == [row[2:] for row in by_formula]


def test_a_core_as_it_runs_has_the_intensity_of_its_groups(made_tables):
    """L2 §6.2: R FLOPs a byte of the cache."""
    assert [(row[1], row[-1]) for row in made_tables["small-groups"].rows] == [
        (str(r), str(r)) for r in (1, 2, 4, 8)
    ]


def test_cbow_and_the_full_softmax_learn_the_same_relations(made_tables):
    """L2 §1.4: on the whole corpus all three answer rightly."""
    assert all(float(row[-1].rstrip("%")) > 90 for row in made_tables["word2vec-models"].rows)


def test_bytes_for_each_flop_follow_the_papers_orders(made_tables):
    """L2 §6.1, Θ(n/d + 1/b): within a factor where the context is not above d."""
    for batch, context, mha, rule, *_ in made_tables["bytes-per-flop"].rows:
        if int(context.replace(",", "")) <= 1024:
            assert 0.3 < float(mha) / float(rule) < 1, (batch, context)


@pytest.mark.parametrize(
    ("document", "here", "shown", "difference"),
    [
        ("34.1 ms", 34.017, "34.02 ms", "-0.2%"),
        ("1,480 times", 1478.37, "1,478.4 times", "-0.1%"),
        ("0.06", 0.0649, "0.06", "none"),
        ("155,000", 160_000, "160,000", "+3.2%"),
        ("1.0486 T", 1.0491, "1.04910 T", "+0.05%"),
    ],
)
def test_a_figure_is_shown_as_the_document_prints_it(document, here, shown, difference):
    figure = Figure("", document, here)
    assert (figure.shown, figure.difference) == (shown, difference)


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
    cold, *_, hot = one_head.lookup_table((1e-3, 1.0, 1e6), seed)
    assert cold[1].max() > 0.999
    assert hot[2] == pytest.approx(30, abs=1e-3)


def test_unscaled_scores_saturate():
    """L2 §2.4: at d = 1024 the largest weight is about 0.96, the Jacobian falls from 0.30 to 0.06;
    with the scale neither depends on d."""
    unscaled = {d: one_head.saturation(d, scaled=False) for d in (16, 1024)}
    assert unscaled[1024].largest_weight == pytest.approx(0.96, abs=0.03)
    assert unscaled[16].jacobian_norm == pytest.approx(0.30, abs=0.02)
    assert unscaled[1024].jacobian_norm == pytest.approx(0.06, abs=0.03)
    scaled = [one_head.saturation(d, scaled=True) for d in (16, 64, 1024)]
    assert np.ptp([row.largest_weight for row in scaled]) < 0.02
    assert np.ptp([row.jacobian_norm for row in scaled]) < 0.01


@given(SEEDS)
def test_the_mask_keeps_what_comes_before(seed):
    """L2 §2.5: exactly nothing changes before the changed token; without the mask all does."""
    masked, unmasked = (one_head.change_of_outputs(m, seed=seed) for m in (True, False))
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
    """L2 §5.4: both ways run and write the same text."""
    short, long = decoding.saving(4), decoding.saving(12)
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
