"""In grading, what a property asks for is compared with the reference too, where that is cheap.

A student's own run has no reference at hand; the examples that grading draws need not be taken on
trust. The words give nothing of the example away: they are of a public test, and shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import reference_model as reference
from assignment.harness.compare import Mismatch, check_array
from grader.base.words import tr

# Functions of arrays that the reference computes from the same arguments.
REFERENCE: dict[str, Callable[..., np.ndarray]] = {
    "softmax": reference.softmax,
    "scaled_dot_product_attention": reference.attention,
    "split_heads": reference.split_heads,
    "merge_heads": reference.merge_heads,
    "multi_head_attention": reference.multi_head_attention,
    "rope_frequencies": reference.rope_frequencies,
    "apply_rope": reference.rope,
    "grouped_query_attention": reference.grouped_query_attention,
    "mean_pool_kv_heads": reference.mean_pool_kv_heads,
    "mla_naive": reference.mla_attention,
    "mla_absorbed": reference.mla_attention,
}


def require_reference(name: str, args: tuple, kwargs: dict, got: Any) -> None:
    """Mismatch unless the answer to this call is the reference's; other functions pass.

    What the reference refuses is the test's business: it may ask for a refusal.
    """
    if name not in REFERENCE or not isinstance(got, np.ndarray):
        return
    try:
        expected = REFERENCE[name](*args, **kwargs)
    except ValueError:
        return
    try:
        check_array(got, expected.astype(got.dtype), name)
    except Mismatch:
        words = tr("{name} is wrong on an example of this test that grading drew", name=name)
        raise Mismatch(words) from None
