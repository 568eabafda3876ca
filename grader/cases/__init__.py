"""Test cases: random inputs and what the reference model says to them.

The public cases (golden data) and the hidden ones come from the same builders with another seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import decode, functions, hidden, latent
from .draw import Draw

Fields = dict[str, Any]

BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    **functions.BUILDERS,
    **decode.BUILDERS,
    **latent.BUILDERS,
}


def make_cases(seed: int, with_hidden: bool = False) -> dict[str, Fields]:
    """Every case by name. A case depends on the seed and its own name only."""
    builders = BUILDERS | hidden.BUILDERS if with_hidden else BUILDERS
    return {name: build(Draw(seed, name)) for name, build in builders.items()}
