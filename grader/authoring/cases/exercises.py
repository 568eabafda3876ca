"""Cases for part 11: sizes drawn for each formula, what is right, and what known mistakes give."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import solution.exercises
from grader.authoring.exercises import FORMULAS, Formula

from .draw import Draw

Fields = dict[str, Any]
Sizes = dict[str, int]

FORMATS = (1, 2, 4)  # bytes a number: one in each call

# The smallest and the largest: so many that nobody can list them, and of sizes at which every known
# mistake shows. Few new tokens, since some count them one by one.
RANGES: dict[str, tuple[int, int]] = {
    "n_layers": (3, 90),
    "d_model": (1100, 9000),
    "d_ff": (3000, 30_000),
    "vocab_size": (30_000, 200_000),
    "window": (3, 12),
    "dim": (50, 900),
    "n_negative": (3, 30),
    "context": (100, 5000),
    "sequences": (3, 40),
    "n_params": (10**9, 4 * 10**11),
    "prompt": (300, 3000),
    "new_tokens": (20, 60),
    "latent_dim": (100, 900),
    "rope_dim": (20, 90),
    "tokens": (100, 5000),
    "before": (100, 2000),
    "after": (2100, 9000),
    "past": (100, 5000),
}
EVEN = ("d_model", "rope_dim")  # RoPE turns pairs


def drawn_sizes(draw: Draw, names: tuple[str, ...], bytes_per_number: int) -> Sizes:
    """A size for each argument of that name; heads fit one another and the width of the model."""
    n_kv_heads, group_size = draw.distinct(2, 3, 9)
    heads = {"n_kv_heads": n_kv_heads, "n_heads": n_kv_heads * group_size}
    drawn = {name: draw.between(*limits) for name, limits in RANGES.items()} | heads
    drawn |= {name: drawn[name] // 2 * 2 for name in EVEN}
    drawn["head_dim"] = 2 * draw.between(17, 120)
    if "n_heads" in names and "head_dim" not in names:  # else the heads may be of any width
        drawn["d_model"] = drawn["n_heads"] * drawn["head_dim"]
    drawn["bytes_per_number"] = bytes_per_number
    return {name: drawn[name] for name in names}


def of_formula(draw: Draw, name: str, formula: Formula) -> Fields:
    """Calls by named arguments; `expected` and what each mistake gives stand in their order."""
    names = tuple(inspect.signature(getattr(solution.exercises, name)).parameters)
    formats = draw.rng.permutation(FORMATS).tolist()
    calls = [drawn_sizes(draw, names, bytes_per_number) for bytes_per_number in formats]
    wrong = {mistake: [of(**call) for call in calls] for mistake, of in formula.mistakes.items()}
    expected = [formula.answer(**call) for call in calls]
    return {"calls": calls, "expected": expected, "mistakes": wrong}


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    f"exercises/{name}": partial(of_formula, name=name, formula=formula)
    for name, formula in FORMULAS.items()
}
