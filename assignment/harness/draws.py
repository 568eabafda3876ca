"""The random numbers of tests that need no oracle: the same in every run at home.

In grading they are the course's own. A table of what the tests ask for at home, which anybody can
record, then holds no answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import hypothesis
import numpy as np

from .words import tr

_Property = TypeVar("_Property", bound=Callable)
_seed: int | None = None
_asked = False


def rng(seed: int) -> np.random.Generator:
    """numpy's generator of a seed; in grading, one that nobody has seen for that seed."""
    global _asked
    _asked = True
    return np.random.default_rng(seed if _seed is None else [seed, _seed])


def drawn(property_: _Property) -> _Property:
    """Give a property (hypothesis' @given or a state machine) the examples of the running test.

    For those that are made inside a test; a test that is a property itself needs no mark.
    """
    global _asked
    _asked = True
    return property_ if _seed is None else hypothesis.seed(_seed)(property_)


@contextlib.contextmanager
def draws_of(test: Callable, seed: int) -> Iterator[None]:
    """Run `test` with the examples and numbers that belong to `seed`."""
    global _seed, _asked
    _seed, _asked = seed, hasattr(test, "hypothesis")
    hypothesis.seed(seed)(test)
    try:
        yield
    finally:
        _seed = None
        hypothesis.seed(None)(test)  # the profile's examples again


def remark() -> str:
    """What to know of a failure in the test that ran last, if it drew anything; else ""."""
    if not _asked:
        return ""
    return tr("(grading draws other examples here than a run at home, the same for everybody)")
