"""The random numbers of tests that need no oracle: the same in every run at home.

In grading such a test runs on these first, so that what is red at home is red there, and then on
the course's own: a table of what the tests ask for at home, which anybody can record, then holds no
answer.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TypeVar

import hypothesis
import numpy as np

from .words import tr

_Property = TypeVar("_Property", bound=Callable)
_seed: int | None = None
_asked = False  # whether the running test drew anything
_are_others = False  # than at home, what it drew last


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
    global _seed, _asked, _are_others
    _seed, _asked, _are_others = seed, hasattr(test, "hypothesis"), True
    hypothesis.seed(seed)(test)
    try:
        yield
    finally:
        _seed = None
        hypothesis.seed(None)(test)  # the profile's examples again


def at_home_and_drawn(test: Callable, seed: int) -> Callable:
    """`test` as it runs at home, and if it draws anything then once more with what `seed` draws."""

    @functools.wraps(test)
    def both(**arguments: object) -> None:
        global _asked, _are_others
        _asked, _are_others = hasattr(test, "hypothesis"), False
        test(**arguments)
        if _asked:
            with draws_of(test, seed):
                test(**arguments)

    return both


def remark() -> str:
    """What to know of a failure in the test that ran last, if it drew other examples; else ""."""
    if not (_asked and _are_others):
        return ""
    return tr("(grading draws other examples here than a run at home, the same for everybody)")


def draw_the_same_everywhere() -> None:
    """Keep hypothesis from mixing constants of the modules around the tests into what it draws.

    Which these are hangs on where the homework lies: beside other projects, or installed. Versions
    before 6.131 draw no such constants, and the oldest have no such module.
    """
    with contextlib.suppress(ImportError):
        from hypothesis.internal.conjecture import providers

        if hasattr(providers, "_get_local_constants"):
            providers._get_local_constants = providers.Constants
