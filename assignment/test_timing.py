"""Does the time of a decode step grow like a recompute's? Run with `pytest assignment/ -m timing`.

On a GPU: `pytest assignment/ -m gpu`. Both look at ratios within one run; other programs on the
machine may slow everything down without changing the answer.
"""

from __future__ import annotations

import pytest

from .harness.timing import check_growth, numpy_growth, torch_growth


@pytest.fixture
def package(request: pytest.FixtureRequest) -> str:
    """Where the student's modules are."""
    return request.config.getoption("impl") or __package__


@pytest.fixture
def tell(capsys: pytest.CaptureFixture):
    """Print the figures of a test that passes, too."""

    def told(growth):
        with capsys.disabled():
            print(f"\n  {growth.described()}")
        return growth

    return told


@pytest.mark.timing
def test_numpy_step_hardly_grows(student, tell):
    """kv_cache.py: decode_step against prefill of the whole context."""
    check_growth(tell(numpy_growth(student)))


@pytest.mark.timing
def test_torch_step_hardly_grows(package, tell):
    """decode_torch.py on the CPU."""
    check_growth(tell(torch_growth(package, "cpu")))


@pytest.mark.gpu
def test_torch_step_hardly_grows_on_a_gpu(package, tell):
    """decode_torch.py on a CUDA device."""
    check_growth(tell(torch_growth(package, "cuda")))
