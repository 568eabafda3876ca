"""Is the cache really used? Right logits alone do not tell: recomputing the prefix gives them too.

Two questions that a recompute cannot answer rightly. (1) After the prefill, replace the
embeddings of all old tokens by NaN: who reads them again gets NaN. (2) Count the vectors that go
through the projections in one step: one a row, however long the context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .cases import Case
from .compare import Mismatch, check, check_kind
from .models import check_trace, new_cache, new_latent_cache
from .student import Student
from .words import tr


@dataclass(frozen=True)
class Loop:
    """The functions of one decode loop, and the projection whose work is counted."""

    prefill: str
    decode_step: str
    new_cache: Callable
    projection: str


LLAMA = Loop("prefill", "decode_step", new_cache, "w_k")
LATENT = Loop("mla_prefill", "mla_decode_step", new_latent_cache, "w_dkv")


def check_cache_is_used(student: Student, case: Case, loop: Loop = LLAMA) -> None:
    """Each step runs on a model that knows no token but the new one, and must still be right."""
    got = _decode(student, case, loop, blind=True)
    for step, logits in enumerate(got):
        if np.isnan(logits).any() and not np.isnan(_decode(student, case, loop)[step]).any():
            words = tr(
                "{call} {step} read older tokens again: {why}",
                call=loop.decode_step,
                step=step,
                why=_recomputes(),
            )
            raise Mismatch(words)
    try:
        what = tr("decode with the old tokens' embeddings removed")
        check_trace(got, case.decode_logits, what)
    except Mismatch as mismatch:
        mismatch.add(tr("no old token was read again: mend the decode itself first, then see here"))
        raise


def _recomputes() -> str:
    return tr("it recomputes the prefix in place of using the cache (L2 §5.2)")


def _decode(student: Student, case: Case, loop: Loop, blind: bool = False) -> list[np.ndarray]:
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


def _cache_for(student: Student, case: Case, loop: Loop):
    n_positions = case.prompt.shape[1] + case.continuation.shape[1]
    dtype = case.decode_logits.dtype
    return loop.new_cache(student, case.config, len(case.prompt), n_positions, dtype)


def _only_embeds(params: dict[str, np.ndarray], token: np.ndarray) -> dict[str, np.ndarray]:
    """The same weights, but the embedding of every token except `token` is NaN."""
    embedding = np.full_like(params["embedding"], np.nan)
    embedding[token] = params["embedding"][token]
    return params | {"embedding": embedding}
