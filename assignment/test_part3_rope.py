"""Part 3: rotary position embedding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .harness import draws
from .harness.compare import check_array, check_differs, check_refused
from .harness.points import graded
from .harness.words import tr

HEAD_AXES = ("batch", "head", "position", "feature")


@graded("3.1", 2)
def test_rope_frequencies(student, oracle):
    """Pair i turns by theta ** (-2i / head_dim) per position."""
    case = oracle("rope_frequencies")
    got = student.rope_frequencies(case.head_dim, case.theta)
    check_array(got, case.expected, f"rope_frequencies({case.head_dim}, {case.theta})", ("pair",))


@graded("3.1", 1, beside="test_rope_frequencies")
def test_rope_frequencies_of_an_odd_head(student):
    """An odd head_dim is refused with a ValueError."""
    check_array(student.rope_frequencies(4), np.array([1, 0.01]), "rope_frequencies(4)")
    theta = float(draws.rng(0).integers(2, 100)) ** 2
    expected = np.array([1, theta**-0.5])
    check_array(student.rope_frequencies(4, theta), expected, f"rope_frequencies(4, {theta})")
    check_refused(lambda: student.rope_frequencies(7), "rope_frequencies(7)")


@graded("3.2", 1)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rope(student, oracle, dtype):
    """Neighbouring pairs turn by position times frequency."""
    case = oracle(f"rope/{dtype}")
    check_rope(student, case)
    # As decode steps do it: one token a call, each at a position of its own.
    for place in (0, -1):
        one = slice(place, place + 1 or None)
        alone = student.apply_rope(case.x[..., one, :], case.positions[one], case.theta)
        what = tr("apply_rope at position {n}", n=case.positions[place])
        check_array(alone, case.expected[..., one, :], what, HEAD_AXES)


@graded("3.2", 1)
@pytest.mark.parametrize("name", ["per_row", "shared_key"])
def test_rope_with_a_row_of_positions_each(student, oracle, name):
    """positions (B, T): every row of the batch sits at positions of its own."""
    case = oracle(f"rope/{name}")
    got = student.apply_rope(case.x, case.positions, case.theta)
    axes = HEAD_AXES if case.x.ndim == 4 else ("batch", "position", "feature")
    check_array(got, case.expected, f"apply_rope(x {case.x.shape}, positions (B, T))", axes)


@graded("3.2", 0.25)
@pytest.mark.parametrize("name", ["one", "one_per_row"])
def test_rope_of_one_position(student, oracle, name):
    """A single new token (T = 1) is turned by its position, as in a decode step."""
    check_rope(student, oracle(f"rope/{name}"))


@graded("3.2", 0.5)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rope_at_far_positions(student, oracle, dtype):
    """Positions may be large: the angles are float64 even where x is not."""
    check_rope(student, oracle(f"rope/far_{dtype}"))


@graded("3.2", 0.5)
def test_rope_of_many_positions(student, oracle):
    """Hundreds of positions at once, as in a long prefill."""
    case = oracle("rope/many_positions")
    for theta, expected in zip(case.thetas, case.expected, strict=True):
        got = student.apply_rope(case.x, case.positions, theta)
        what = tr(
            "apply_rope at {n} positions, theta = {theta}", n=len(case.positions), theta=theta
        )
        check_array(got, expected, what, HEAD_AXES)


def check_rope(student, case):
    got = student.apply_rope(case.x, case.positions, case.theta)
    what = tr("apply_rope at positions {positions}", positions=case.positions.tolist())
    check_array(got, case.expected, what, HEAD_AXES)


@graded("3.2", 1, beside="test_rope")
def test_rope_at_position_zero(student):
    """Position 0 is not turned at all."""
    x = draws.rng(0).standard_normal((2, 1, 6))
    got = student.apply_rope(x, np.array([0]))
    check_array(got, x, tr("apply_rope at position {n}", n=0), ("head", "position", "feature"))
    turned = student.apply_rope(x, np.array([1]))
    check_differs(turned, x, tr("apply_rope at position {n}", n=1))
    with_theta = student.apply_rope(x, np.array([1]), 10000.0)
    check_array(turned, with_theta, tr("apply_rope without theta, compared with theta = 10000"))


@graded("3.2", 3, beside="test_rope")
@given(
    seed=st.integers(0, 2**16),
    m=st.integers(0, 300),
    n=st.integers(0, 300),
    shift=st.integers(0, 10000),
    theta=st.sampled_from([100.0, 10000.0]),
)
def test_rope_depends_on_differences_only(student, seed, m, n, shift, theta):
    """q at m times k at n depends on m - n alone (L2 §2.7)."""
    # Three pairs of vectors: the product of one can be the same at two distances by chance.
    q, k = draws.rng(seed).standard_normal((2, 3, 1, 8))

    def dot(query_position: int, key_position: int) -> np.ndarray:
        rotated_q = student.apply_rope(q, np.array([query_position]), theta)
        rotated_k = student.apply_rope(k, np.array([key_position]), theta)
        return np.atleast_1d((rotated_q * rotated_k).sum(axis=(-2, -1)))

    turned = student.apply_rope(q, np.array([m + 1]), theta)
    check_differs(turned, q, tr("apply_rope at {n}", n=m + 1))
    what = tr(
        "q.k at positions {ends}, compared with {others}",
        ends=(m + shift, n + shift),
        others=(m, n),
    )
    check_array(dot(m + shift, n + shift), dot(m, n), what)
    farther = tr("q.k at positions {ends}, compared with {others}", ends=(m + 1, n), others=(m, n))
    check_differs(dot(m + 1, n), dot(m, n), farther)


@graded("3.2", 1, beside="test_rope")
@given(seed=st.integers(0, 2**16), start=st.integers(0, 10000))
def test_rope_keeps_lengths(student, seed, start):
    """A rotation changes no vector's length."""
    x = draws.rng(seed).standard_normal((3, 8))
    got = student.apply_rope(x, np.arange(start, start + 3))
    check_differs(got, x, tr("apply_rope from position {n} on", n=start))
    lengths = np.linalg.norm(x, axis=-1)
    check_array(np.linalg.norm(got, axis=-1), lengths, tr("the length of rotated vectors"))
