"""Small random models for property tests, and decode loops driven by chosen tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import draws
from .cases import Case
from .compare import (
    Axes,
    Mismatch,
    at,
    check,
    check_array,
    check_differs,
    check_kind,
    check_refused,
)
from .student import Student
from .words import spoken, tr

STEP_AXES: Axes = ("step", "batch", "token")
POSITION_AXES: Axes = ("position", "batch", "token")


def random_model(seed: int, n_heads: int = 4, n_kv_heads: int = 4) -> tuple[dict, dict]:
    """Config and weights of a model whose bugs show.

    Weights N(0, 1/fan_in) and random norm weights: with the usual small initialisation and norm
    weights of one, a wrong position or scale would hardly move the logits.
    """
    rng = draws.rng(seed)
    config: dict[str, Any] = {
        "name": "property test",
        "n_layers": 2,
        "d_model": 18,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "head_dim": 6,
        "d_ff": 22,
        "vocab_size": 29,
        "rope_theta": 200.0,
    }
    params = {
        name: rng.standard_normal(shape) / np.sqrt(shape[0])
        if len(shape) == 2
        else rng.uniform(0.5, 1.5, shape)
        for name, shape in weight_shapes(config).items()
    }
    params["embedding"] *= np.sqrt(config["vocab_size"])
    return config, params


def weight_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """The given model's weights, matrices (d_in, d_out) and norm weights, by name."""
    d_model, d_ff = config["d_model"], config["d_ff"]
    d_q, d_kv = (config[n] * config["head_dim"] for n in ("n_heads", "n_kv_heads"))
    of_layer = {
        "w_q": (d_model, d_q),
        "w_k": (d_model, d_kv),
        "w_v": (d_model, d_kv),
        "w_o": (d_q, d_model),
        "w_gate": (d_model, d_ff),
        "w_up": (d_model, d_ff),
        "w_down": (d_ff, d_model),
        "attention_norm": (d_model,),
        "mlp_norm": (d_model,),
    }
    layers = {
        f"layers.{layer}.{name}": shape
        for layer in range(config["n_layers"])
        for name, shape in of_layer.items()
    }
    ends = {
        "embedding": (config["vocab_size"], d_model),
        "final_norm": (d_model,),
        "lm_head": (d_model, config["vocab_size"]),
    }
    return layers | ends


def new_cache(student: Student, config: dict, batch_size: int, max_len: int, dtype: Any = float):
    """An empty KVCache for a model."""
    return student.KVCache(
        config["n_layers"],
        batch_size,
        config["n_kv_heads"],
        max_len,
        config["head_dim"],
        np.dtype(dtype),
    )


def new_latent_cache(student: Student, config: dict, batch_size: int, max_len: int, dtype: Any):
    """An empty MLACache for a model."""
    return student.MLACache(
        config["n_layers"],
        batch_size,
        max_len,
        config["latent_dim"],
        config["rope_dim"],
        np.dtype(dtype),
    )


def recompute(student: Student, model: Any, config: dict, tokens: np.ndarray) -> np.ndarray:
    """Logits (B, V) after whole sequences: one prefill into a fresh cache, nothing reused."""
    cache = new_cache(student, config, *tokens.shape)
    logits = student.prefill(model, tokens, cache)
    check_kind(logits, np.empty((len(tokens), config["vocab_size"])), tr("the logits of prefill"))
    return logits


def check_responds(student: Student, model: Any, config: dict) -> None:
    """Fail where the logits do not depend on both tokens of a sequence.

    Decode equals recompute for constants too; this tells them from a model.
    """
    tokens = np.array([[1, 2]])
    logits = recompute(student, model, config, tokens)
    check_kind(logits, np.empty((1, config["vocab_size"])), tr("the logits of prefill"))
    for position, name in enumerate(("first", "second")):
        other = tokens.copy()
        other[0, position] = 3
        what = tr("prefill with another {name} token", name=spoken(name))
        check_differs(recompute(student, model, config, other), logits, what)


def full_at(rng: np.random.Generator) -> tuple[int, int]:
    """Positions that a cache holds, and its max_len: there is room for at least two more."""
    held = int(rng.integers(2, 20))
    return held, held + int(rng.integers(2, 20))


def check_refusals(cache: Any, held: int, max_len: int, *too_many: np.ndarray) -> None:
    """Fail unless a cache of one layer refuses to be truncated to what it does not hold and to take
    these positions, one more than it has room for."""
    place = {"held": held, "max_len": max_len}
    for length in (held + 1, max_len, -1, -held):
        what = tr(
            "truncate to {n} of a cache of max_len {max_len} that holds {held} positions",
            n=length,
            **place,
        )
        check_refused(partial(cache.truncate, length), what)
    what = tr(
        "append of {n} positions to a cache of max_len {max_len} that holds {held} positions",
        n=max_len - held + 1,
        **place,
    )
    check_refused(partial(cache.append, 0, *too_many), what)


def check_refuses_one_more(cache: Any, *one: np.ndarray) -> None:
    """One position too many is what numpy's broadcasting would swallow without an error."""
    check_refused(partial(cache.append, 0, *one), tr("append of 1 position to a full cache"))


def check_length(cache: Any, expected: int, when: str) -> None:
    """Fail unless cache.length is exactly this number: an array that equals it is not a length."""
    length = cache.length
    is_number = isinstance(length, int | np.integer) and not isinstance(length, bool)
    check(
        is_number and int(length) == expected,
        tr(
            "cache.length is {length!r} {when}, expected {expected}",
            length=length,
            when=when,
            expected=expected,
        ),
    )


def teacher_forced_decode(student: Student, case: Case) -> tuple[list, Any]:
    """Logits after the prompt and after each given token, and the cache after all of them.

    Teacher forcing, whatever the student would choose, keeps one wrong token from spoiling all
    later steps.
    """
    model = student.load_model(case.config, case.params)
    n_positions = case.prompt.shape[1] + case.continuation.shape[1]
    dtype = case.decode_logits.dtype
    cache = new_cache(student, case.config, len(case.prompt), n_positions, dtype)
    steps = [student.prefill(model, case.prompt, cache)]
    for token, expected in zip(case.continuation.T, case.decode_logits, strict=False):
        # Looked at before the next is asked for: forty results of any size would add up.
        what = tr("the logits of step {step}", step=len(steps) - 1)
        check_kind(steps[-1], expected, what)
        steps.append(student.decode_step(model, token, cache))
    return steps, cache


def check_long_prefill(prefill: Callable, model: Any, case: Case, make_cache: Callable) -> None:
    """A long prompt read at once, then in chunks into a second cache; the logits of every end.

    Args:
        case: `tokens` (B, T), where each chunk ends, and `logits` (chunk, B, V) there.
    """
    axes, n_tokens = ("batch", "token"), case.tokens.shape[1]
    got = prefill(model, case.tokens, make_cache())
    what = tr("the logits after a prefill of {n} tokens at once", n=n_tokens)
    check_array(got, case.logits[-1], what, axes)
    cache, start = make_cache(), 0
    for end, expected in zip(case.ends.tolist(), case.logits, strict=True):
        got = prefill(model, case.tokens[:, start:end], cache)
        place = {"n": end - start, "held": start}
        what = tr("the logits after a prefill of {n} tokens behind {held} cached ones", **place)
        check_array(got, expected, what, axes)
        start = end


def check_decode(student: Student, case: Case, what: str = "") -> None:
    """The core check: every step's logits are those of the reference's recompute."""
    got, cache = teacher_forced_decode(student, case)
    n_positions, n_held = case.prompt.shape[1] + case.continuation.shape[1], _held_by(cache)
    try:
        what = tr("{what} (step 0 is the prefill's)", what=what or tr("the logits"))
        check_trace(got, case.decode_logits, what)
    except Mismatch as mismatch:
        if isinstance(n_held, int) and n_held != n_positions:
            words = tr(
                "cache.length is {held} after {n} tokens; are all appended?",
                held=n_held,
                n=n_positions,
            )
            mismatch.add(words)
        raise


def _held_by(cache: Any) -> Any:
    """Its length, asked for whether or not it is needed: then right and wrong code get the same
    questions. None where it has none."""
    try:
        return cache.length
    except Exception:
        return None


def check_grouped_decode(student: Student, case: Case) -> None:
    """check_decode for a model with G < H, for which part 4's code changes in one place."""
    require_grouped_attention(student)
    config = case.config
    try:
        check_decode(student, case)
    except ValueError as error:
        words = tr(
            "decode of a model with {heads} query heads and {groups} key/value heads stopped with "
            "ValueError: {error}\n"
            "does kv_cache.py still call scaled_dot_product_attention? Part 5 puts "
            "grouped_query_attention in its place (§5.1)",
            heads=config["n_heads"],
            groups=config["n_kv_heads"],
            error=error,
        )
        raise Mismatch(words) from error


def require_grouped_attention(student: Student) -> None:
    """Reach the stub, if it is one: a model with G = 1 would run without it, by broadcasting."""
    q, kv = np.ones((1, 2, 1, 2)), np.ones((1, 1, 1, 2))
    student.grouped_query_attention(q, kv, kv)


def check_trace(got: list, expected: np.ndarray, what: str, axes: Axes = STEP_AXES) -> None:
    """Compare the logits of every step; each step must be a plain array of the right kind."""
    for step, (logits, target) in enumerate(zip(got, expected, strict=True)):
        # The subject ends where a remark in brackets begins, in either language.
        subject, place = what.partition(" (")[0], at(axes[0], step)
        check_kind(logits, target, tr("{what} of {place}", what=subject, place=place))
    check_array(np.stack(got), expected, what, axes)
