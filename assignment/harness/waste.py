"""Right results that take more work than they need: remarked on, at no cost in points."""

from __future__ import annotations

import numpy as np

from .cases import Case
from .models import new_cache
from .remarks import remark
from .student import Student
from .words import tr


def tell_waste_of_prefill(student: Student, case: Case) -> None:
    """Logits of positions that nobody asked for, and embeddings by a product with the table."""
    model = student.load_model(case.config, case.params)
    student.prefill(model, case.prompt, new_cache(student, case.config, *case.prompt.shape))
    rows, batch = model.counter.rows("lm_head"), len(case.prompt)
    if rows > batch:
        remark(
            tr(
                "prefill sent {rows} vectors through lm_head, the widest matrix, where {batch} are "
                "asked for (§4.2; costs no points)",
                rows=rows,
                batch=batch,
            )
        )
    embedding = _with_nan_elsewhere(case.params["embedding"], case.prompt)
    model = student.load_model(case.config, case.params | {"embedding": embedding})
    cache = new_cache(student, case.config, *case.prompt.shape)
    if np.isnan(student.prefill(model, case.prompt, cache)).any():
        remark(_reads_the_whole_table("prefill"))


def tell_waste_of_embedding(student: Student, table: np.ndarray, tokens: np.ndarray) -> None:
    """A lookup that multiplies by the whole table."""
    if np.isnan(student.embed(_with_nan_elsewhere(table, tokens), tokens)).any():
        remark(_reads_the_whole_table("embed"))


def _reads_the_whole_table(call: str) -> str:
    return tr(
        "{call} reads the embeddings of tokens that do not occur, as a product with one-hot "
        "vectors does: a row can be looked up (L2 §1.8; costs no points)",
        call=call,
    )


def _with_nan_elsewhere(table: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The table with NaN in the rows of all other tokens: a product with them is NaN."""
    elsewhere = np.full_like(table, np.nan)
    elsewhere[tokens] = table[tokens]
    return elsewhere
