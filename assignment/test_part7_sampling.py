"""Part 7: temperature, top-k and top-p."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check, check_array, check_differs, check_refused
from .harness.points import graded
from .harness.words import tr

AXES = ("row", "token")


@graded("7.1", 0.5)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_temperature(student, oracle, dtype):
    """Logits are divided by the temperature; they stay logits."""
    case = oracle(f"temperature/{dtype}")
    got = student.apply_temperature(case.logits, case.temperature)
    check_array(got, case.expected, f"apply_temperature(logits, {case.temperature})", AXES)


@pytest.mark.parametrize(
    ("function", "sensible"),
    [
        pytest.param("apply_temperature", 2, marks=graded("7.1", 0.5)),
        pytest.param("top_k", 1, marks=graded("7.2", 0.5)),
        pytest.param("top_p", 0.1, marks=graded("7.3", 0.5)),
    ],
)
def test_senseless_settings(student, function, sensible):
    """A temperature, k or p of 0 or less, or a p above 1, is refused with a ValueError."""
    lowest = float(draws.rng(0).integers(0, 10))
    logits = lowest + np.array([[2.0, 1.0, 0.0]])
    got = getattr(student, function)(logits, sensible)
    only_the_best = np.array([[lowest + 2, -np.inf, -np.inf]])
    expected = logits / 2 if function == "apply_temperature" else only_the_best
    check_array(got, expected, f"{function}(logits, {sensible})", AXES)
    for senseless in (0, -1, 1.5) if function == "top_p" else (0, -1):
        what = f"{function}(logits, {senseless})"
        check_refused(lambda s=senseless: getattr(student, function)(logits, s), what)


@graded("7.2", 0.5)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_top_k(student, oracle, dtype):
    """The k largest logits stay, the others become -inf."""
    case = oracle(f"top_k/{dtype}")
    check_array(student.top_k(case.logits, case.k), case.expected, f"top_k(logits, {case.k})", AXES)


@graded("7.3", 0.75)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_top_p(student, oracle, dtype):
    """The smallest set that reaches p stays, with the token that crosses p."""
    case = oracle(f"top_p/{dtype}")
    check_array(student.top_p(case.logits, case.p), case.expected, f"top_p(logits, {case.p})", AXES)


@graded("7.3", 0.75)
@given(
    seed=st.integers(0, 2**16),
    k=st.integers(1, 12),
    p=st.floats(0.05, 1.0),
)
def test_filters_keep_the_best(student, seed, k, p):
    """Kept logits are unchanged and the largest ones; p keeps as many as it needs, no more."""
    logits = 2 * draws.rng(seed).permutation(9)[None] / 9.0
    descending = np.sort(logits[0])[::-1]
    probabilities = np.exp(descending) / np.exp(descending).sum()
    sizes = {"top_k": min(k, 9), "top_p": _nucleus_size(probabilities, p)}
    for name, setting in (("top_k", k), ("top_p", p)):
        expected = np.where(logits >= descending[sizes[name] - 1], logits, -np.inf)
        got = getattr(student, name)(logits, setting)
        check_array(got, expected, f"{name}(logits, {setting:.3g})", AXES)
        check(got.max() == logits.max(), tr("{name} lost the most likely token", name=name))


@graded("7.3", 0.25)
def test_filters_of_any_shape(student):
    """(..., V): one row alone, or rows of rows; k = V and p = 1 keep everything."""
    logits = draws.rng(0).permutation(24).reshape(2, 3, 4) / 12
    for name, setting, everything in (("top_k", 2, 4), ("top_p", 0.6, 1.0)):
        function = getattr(student, name)
        rows = function(logits.reshape(6, 4), setting)
        alone = [function(row, setting) for row in logits.reshape(6, 4)]
        what = tr("{name} of one row alone, compared with {name} of six", name=name)
        check_array(np.stack(alone), rows, what)
        check_differs(rows, logits.reshape(6, 4), tr("{name} of six rows", name=name))
        what = tr("{name} of logits (2, 3, 4)", name=name)
        check_array(function(logits, setting), rows.reshape(2, 3, 4), what)
        check_array(function(logits, everything), logits, f"{name}(logits, {everything})")


def _nucleus_size(probabilities: np.ndarray, p: float) -> int:
    total = 0.0
    for size, probability in enumerate(probabilities, start=1):
        total += probability
        if total >= p:
            return size
    return len(probabilities)
