"""Is the cache really used? Right logits alone do not tell: recomputing the prefix gives them too.

Three questions that a recompute cannot answer rightly. (1) Fill the cache through append with keys
and values that belong to no token: who does not read them is wrong. (2) After the prefill, give all
old tokens other embeddings: who reads them again gets other logits. (3) Count the vectors that go
through the projections in one step: one a row, however long the context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .cases import Case
from .compare import Mismatch, check, check_array, check_kind
from .models import STEP_AXES, check_length, check_trace, new_cache, new_latent_cache
from .student import Student
from .words import tr


@dataclass(frozen=True)
class Loop:
    """The functions of one decode loop, the projection whose work is counted, and what the cache
    holds: two arrays by their names in a case, with the axis of the positions in each layer."""

    prefill: str
    decode_step: str
    new_cache: Callable
    projection: str
    held: tuple[str, str]
    position_axis: int


LLAMA = Loop("prefill", "decode_step", new_cache, "w_k", ("keys", "values"), 2)
LATENT = Loop(
    "mla_prefill", "mla_decode_step", new_latent_cache, "w_dkv", ("latents", "rope_keys"), 1
)


def check_reads_the_cache(student: Student, case: Case, loop: Loop = LLAMA) -> None:
    """Decode steps on a cache that append alone has filled, with numbers of no token."""
    held = [getattr(case, name) for name in loop.held]
    n_layers, n_held = len(held[0]), held[0].shape[1 + loop.position_axis]
    n_steps = case.tokens.shape[1]
    cache = loop.new_cache(
        student, case.config, len(case.tokens), n_held + n_steps, case.decode_logits.dtype
    )
    for first, last in ((0, n_held // 3), (n_held // 3, n_held)):
        block = [np.moveaxis(array, 1 + loop.position_axis, 0)[first:last] for array in held]
        block = [np.moveaxis(array, 0, 1 + loop.position_axis).copy() for array in block]
        for layer in range(n_layers):
            cache.append(layer, block[0][layer], block[1][layer])
        check_length(cache, last, tr("after append of {n} positions to every layer", n=last))
    model = student.load_model(case.config, case.params)
    got = []
    for token, expected in zip(case.tokens.T, case.decode_logits, strict=True):
        got.append(getattr(student, loop.decode_step)(model, token, cache))
        what = tr("the logits of {call} {step}", call=loop.decode_step, step=len(got))
        check_kind(got[-1], expected, what)
    what = tr(
        "{call} on a cache filled with append, {n} positions", call=loop.decode_step, n=n_held
    )
    check_array(np.stack(got), case.decode_logits, what, STEP_AXES)


def check_cache_is_used(student: Student, case: Case, loop: Loop = LLAMA) -> None:
    """Each step runs on a model that knows no token but the new one, and must still be right."""
    got, sighted = (_decode(student, case, loop, blind) for blind in (True, False))
    for step, (logits, as_before) in enumerate(zip(got, sighted, strict=True)):
        if not np.allclose(logits, as_before, equal_nan=True):
            words = tr(
                "{call} {step} read older tokens again: {why}",
                call=loop.decode_step,
                step=step,
                why=_recomputes(),
            )
            raise Mismatch(words)
    try:
        what = tr("decode with other embeddings for the old tokens")
        check_trace(got, case.decode_logits, what)
    except Mismatch as mismatch:
        mismatch.add(tr("no old token was read again: mend the decode itself first, then see here"))
        raise


def _recomputes() -> str:
    return tr("it recomputes the prefix in place of using the cache (L2 §5.2)")


def _decode(student: Student, case: Case, loop: Loop, blind: bool) -> list[np.ndarray]:
    """Logits of every step; blind, the model of a step knows the embedding of its token only."""
    prefill, decode_step = getattr(student, loop.prefill), getattr(student, loop.decode_step)
    cache = _cache_for(student, case, loop)
    model = student.load_model(case.config, case.params)
    got = [prefill(model, case.prompt, cache)]
    for step, token in enumerate(case.continuation.T, start=1):
        if blind:
            model = student.load_model(case.config, _only_embeds(case.params, token))
        got.append(decode_step(model, token, cache))
        what = tr("the logits of {call} {step}", call=loop.decode_step, step=step)
        check_kind(got[-1], case.decode_logits[step], what)
    return got


def check_work_of_a_step(student: Student, case: Case, loop: Loop = LLAMA) -> None:
    """The Counter of the given model sees one vector a row in each projection."""
    model = student.load_model(case.config, case.params)
    cache = _cache_for(student, case, loop)
    getattr(student, loop.prefill)(model, case.prompt, cache)
    batch = len(case.prompt)
    for step, token in enumerate(case.continuation.T, start=1):
        model.counter.reset()
        getattr(student, loop.decode_step)(model, token, cache)
        rows = model.counter.rows(loop.projection) // case.config["n_layers"]
        check(
            rows > 0,
            tr(
                "{call} {step} never projected its token through the model",
                call=loop.decode_step,
                step=step,
            ),
        )
        check(
            rows <= batch,
            tr(
                "{call} {step} sent {rows} vectors through {matrix} where {batch} are new: {why}",
                call=loop.decode_step,
                step=step,
                rows=rows,
                matrix=loop.projection,
                batch=batch,
                why=_recomputes(),
            ),
        )


def check_work_of_a_generation(student: Student, case: Case) -> None:
    """generate sends no more vectors through the model than its prompt and a step a token take.

    What these take is counted of the student's own prefill and decode_step: that a step may do only
    the work of one token is another test.
    """
    n_tokens, n_layers = case.max_new_tokens, case.config["n_layers"]
    n_positions = case.prompt.shape[1] + n_tokens
    model = student.load_model(case.config, case.params)
    cache = new_cache(student, case.config, len(case.prompt), n_positions)
    student.prefill(model, case.prompt, cache)
    for token in case.expected.T:
        student.decode_step(model, token, cache)
    by_steps = model.counter.rows("w_k") // n_layers
    model.counter.reset()
    student.generate(model, case.prompt, n_tokens)
    rows = model.counter.rows("w_k") // n_layers
    fewest = len(case.prompt) * (n_positions - 1)
    check(rows >= fewest, tr("generate never projected some of its tokens through the model"))
    check(
        rows <= by_steps,
        tr(
            "generate sent {rows} vectors through w_k where a prefill and {n} decode steps send "
            "{by_steps}: prefill the prompt once, then decode (L2 §5.1)",
            rows=rows,
            n=n_tokens,
            by_steps=by_steps,
        ),
    )


def _cache_for(student: Student, case: Case, loop: Loop):
    n_positions = case.prompt.shape[1] + case.continuation.shape[1]
    dtype = case.decode_logits.dtype
    return loop.new_cache(student, case.config, len(case.prompt), n_positions, dtype)


def _only_embeds(params: dict[str, np.ndarray], token: np.ndarray) -> dict[str, np.ndarray]:
    """The same weights, but every token except `token` has the embedding of another one.

    Of another one and not NaN: a product with one-hot vectors reads all rows, and is right.
    """
    embedding = np.roll(params["embedding"], 1, axis=0)
    embedding[token] = params["embedding"][token]
    return params | {"embedding": embedding}
