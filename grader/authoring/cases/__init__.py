"""Test cases: random inputs and what the reference model says to them.

The public cases (golden data) and the hidden ones come from the same builders with another seed.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from assignment.harness.cases import load_cases

from . import (
    accounts,
    decode,
    exercises,
    filled,
    functions,
    hidden,
    latent,
    lengths,
    serving,
    words,
)
from .draw import Draw

Fields = dict[str, Any]

BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    **functions.BUILDERS,
    **decode.BUILDERS,
    **latent.BUILDERS,
    **lengths.BUILDERS,
    **filled.BUILDERS,
    **accounts.BUILDERS,
    **words.BUILDERS,
    **exercises.BUILDERS,
    **serving.BUILDERS,
}

# Cases whose inputs are all drawn from a few options, and those inputs.
FEW_OPTIONS = {
    "rope_frequencies": ("head_dim", "theta"),
    "causal_mask/many": ("query_len", "key_len"),
}


def make_cases(seed: int, with_hidden: bool = False) -> dict[str, Fields]:
    """Every case by name. A case depends on the seed and its own name only."""
    builders = BUILDERS | hidden.BUILDERS if with_hidden else BUILDERS
    cases = {name: build(Draw(seed, name)) for name, build in builders.items()}
    if with_hidden:
        cases |= {name: _unlike_public(seed, name) for name in FEW_OPTIONS}
    return cases


def _unlike_public(seed: int, name: str) -> Fields:
    """A case of a few options, drawn until it is not the public one: a table could answer that."""
    public = vars(load_cases()[name])
    drawn = (BUILDERS[name](Draw(seed + again, name)) for again in count())
    return next(
        fields for fields in drawn if any(public[key] != fields[key] for key in FEW_OPTIONS[name])
    )
