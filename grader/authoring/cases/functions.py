"""Cases for single functions: parts 1, 2, 3, 5 and 7. Dimensions are pairwise distinct."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import reference_model as reference

from .draw import Draw

Fields = dict[str, Any]


def softmax(draw: Draw, dtype: type, shift: float = 0.0, axis: int = -1) -> Fields:
    """A shift of +-1000 overflows exp unless the maximum is taken off first."""
    x: np.ndarray = (3 * draw.normal(*draw.distinct(3, 2, 9)) + shift).astype(dtype)
    return {"x": x, "axis": axis, "expected": reference.softmax(x, axis).astype(dtype)}


def softmax_rows(draw: Draw) -> Fields:
    """Rows far apart in one array: what is taken off one of them overflows or empties another."""
    n_rows, width = draw.between(6, 9), draw.between(4, 5)
    shifts = draw.rng.permutation(np.linspace(-3000, 3000, n_rows))
    x = shifts[:, None] + draw.normal(n_rows, width) * draw.rng.uniform(0.1, 3, (n_rows, 1))
    return {"x": x, "expected": reference.softmax(x)}


def softmax_masked(draw: Draw) -> Fields:
    """Scores of -inf must get weight 0."""
    x = draw.normal(*draw.distinct(2, 4, 8))
    x[draw.rng.random(x.shape) < 0.4] = -np.inf
    x[:, 2] = draw.normal(len(x))
    return {"x": x, "expected": reference.softmax(x)}


def attention(draw: Draw, dtype: type, lead: tuple[int, ...], masked: bool) -> Fields:
    """d_v differs from d_h, and T from S."""
    query_len, key_len, head_dim, v_dim = draw.distinct(4, 4, 13)
    q = draw.normal(*lead, query_len, head_dim, dtype=dtype)
    k = draw.normal(*lead, key_len, head_dim, dtype=dtype)
    v = draw.normal(*lead, key_len, v_dim, dtype=dtype)
    fields = {"q": q, "k": k, "v": v}
    if masked:
        fields["mask"] = _random_mask(draw, query_len, key_len)
    return fields | {"expected": reference.attention(**fields).astype(dtype)}


def _random_mask(draw: Draw, query_len: int, key_len: int) -> np.ndarray:
    """Each query may attend to at least one key."""
    mask = draw.rng.random((query_len, key_len)) < 0.5
    mask[np.arange(query_len), draw.rng.integers(key_len, size=query_len)] = True
    return mask


def causal_mask(draw: Draw, queries: tuple[int, int], cached: tuple[int, int]) -> Fields:
    """How many queries there are, and how many positions before them: ranges, ends included."""
    query_len = draw.between(*queries)
    key_len = query_len + draw.between(*cached)
    expected = reference.causal_mask(query_len, key_len)
    return {"query_len": query_len, "key_len": key_len, "expected": expected}


def split_heads(draw: Draw) -> Fields:
    length, n_heads, head_dim = draw.distinct(3, 3, 8)
    x = draw.normal(2, length, n_heads * head_dim)
    return {"x": x, "n_heads": n_heads, "expected": reference.split_heads(x, n_heads)}


def merge_heads(draw: Draw) -> Fields:
    x = draw.normal(2, *draw.distinct(3, 3, 8))
    return {"x": x, "expected": reference.merge_heads(x)}


def multi_head_attention(
    draw: Draw, dtype: type, batch: int = 2, length: tuple[int, int] = (4, 6)
) -> Fields:
    """d, H*d_h and H*d_v all differ."""
    n_heads, head_dim, v_dim = draw.distinct(3, 2, 7)
    widths = (n_heads * head_dim, n_heads * v_dim)
    d_model = draw.choice([width for width in range(9, 17) if width not in widths])
    fields: Fields = {
        "x": draw.normal(batch, draw.between(*length), d_model, dtype=dtype),
        "w_q": _weight(draw, d_model, n_heads * head_dim, dtype),
        "w_k": _weight(draw, d_model, n_heads * head_dim, dtype),
        "w_v": _weight(draw, d_model, n_heads * v_dim, dtype),
        "w_o": _weight(draw, n_heads * v_dim, d_model, dtype),
        "n_heads": n_heads,
    }
    return fields | {"expected": reference.multi_head_attention(**fields).astype(dtype)}


def _weight(draw: Draw, d_in: int, d_out: int, dtype: type) -> np.ndarray:
    return (draw.normal(d_in, d_out) / np.sqrt(d_in)).astype(dtype)


def rope_frequencies(draw: Draw) -> Fields:
    head_dim, theta = 2 * draw.between(2, 12), draw.theta(50, 1e6)
    expected = reference.rope_frequencies(head_dim, theta)
    return {"head_dim": head_dim, "theta": theta, "expected": expected}


def rope(draw: Draw, dtype: type, lead: tuple[int, ...], per_row: bool) -> Fields:
    """Positions with gaps that start anywhere, shared by the batch or each row's own."""
    length, head_dim = draw.between(4, 6), 2 * draw.between(3, 5)
    rows = [draw.increasing(length, below=400) for _ in range(lead[0])]
    positions = np.stack(rows) if per_row else rows[0]
    return rotated(draw, lead, positions, head_dim, dtype)


def rotated(
    draw: Draw, lead: tuple[int, ...], positions: np.ndarray, head_dim: int, dtype: type
) -> Fields:
    """Random vectors turned at these positions, by a theta of their own."""
    fields: Fields = {
        "x": draw.normal(*lead, positions.shape[-1], head_dim, dtype=dtype),
        "positions": positions,
        "theta": draw.theta(),
    }
    return fields | {"expected": reference.rope(**fields).astype(dtype)}


def grouped_query_attention(draw: Draw, dtype: type, one_group: bool = False) -> Fields:
    n_groups, group_size = draw.groups()
    if one_group:
        n_groups = 1
    n_heads = n_groups * group_size
    query_len, key_len, head_dim, v_dim = 3, *draw.distinct(3, 5, 9)
    fields = {
        "q": draw.normal(2, n_heads, query_len, head_dim, dtype=dtype),
        "k": draw.normal(2, n_groups, key_len, head_dim, dtype=dtype),
        "v": draw.normal(2, n_groups, key_len, v_dim, dtype=dtype),
        "mask": reference.causal_mask(query_len, key_len),
    }
    expected: np.ndarray = reference.grouped_query_attention(**fields).astype(dtype)
    return fields | {"expected": expected}


def mean_pool_kv_heads(draw: Draw, dtype: type) -> Fields:
    (n_kv_heads, group_size), head_dim = draw.groups(), draw.between(5, 7)
    n_heads = n_kv_heads * group_size
    fields: Fields = {
        "w": draw.normal(11, n_heads * head_dim, dtype=dtype),
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
    }
    return fields | {"expected": reference.mean_pool_kv_heads(**fields).astype(dtype)}


def temperature(draw: Draw, dtype: type) -> Fields:
    logits, value = draw.normal(2, 9, dtype=dtype), draw.choice((0.3, 0.7, 1.9))
    expected: np.ndarray = reference.temperature(logits, value).astype(dtype)
    return {"logits": logits, "temperature": value, "expected": expected}


def top_k(draw: Draw, dtype: type) -> Fields:
    logits, k = draw.normal(3, 11, dtype=dtype), draw.choice((2, 3, 4))
    return {"logits": logits, "k": k, "expected": reference.top_k(logits, k).astype(dtype)}


def top_p(draw: Draw, dtype: type) -> Fields:
    logits, p = 2 * draw.normal(4, 11, dtype=dtype), draw.choice((0.5, 0.8, 0.93))
    return {"logits": logits, "p": p, "expected": reference.top_p(logits, p).astype(dtype)}


def _both_dtypes(name: str, build: Callable[..., Fields], **fixed: Any) -> dict[str, Callable]:
    return {
        f"{name}/float64": partial(build, dtype=np.float64, **fixed),
        f"{name}/float32": partial(build, dtype=np.float32, **fixed),
    }


BUILDERS: dict[str, Callable[[Draw], Fields]] = {
    **_both_dtypes("softmax", softmax),
    "softmax/axis": partial(softmax, dtype=np.float64, axis=1),
    "softmax/large": partial(softmax, dtype=np.float64, shift=1000.0),
    "softmax/small": partial(softmax, dtype=np.float64, shift=-1000.0),
    "softmax/rows": softmax_rows,
    "softmax/masked": softmax_masked,
    "attention/plain": partial(attention, dtype=np.float64, lead=(), masked=False),
    "attention/masked": partial(attention, dtype=np.float64, lead=(2, 3), masked=True),
    "attention/float32": partial(attention, dtype=np.float32, lead=(2, 3), masked=True),
    "causal_mask/square": partial(causal_mask, queries=(3, 9), cached=(0, 0)),
    "causal_mask/one_query": partial(causal_mask, queries=(1, 1), cached=(3, 9)),
    "causal_mask/chunk": partial(causal_mask, queries=(2, 5), cached=(2, 7)),
    "split_heads": split_heads,
    "merge_heads": merge_heads,
    **_both_dtypes("multi_head_attention", multi_head_attention),
    "rope_frequencies": rope_frequencies,
    **_both_dtypes("rope", rope, lead=(2, 3), per_row=False),
    "rope/per_row": partial(rope, dtype=np.float64, lead=(2, 3), per_row=True),
    "rope/shared_key": partial(rope, dtype=np.float64, lead=(2,), per_row=True),
    **_both_dtypes("gqa", grouped_query_attention),
    "gqa/one_group": partial(grouped_query_attention, dtype=np.float64, one_group=True),
    **_both_dtypes("mean_pool", mean_pool_kv_heads),
    **_both_dtypes("temperature", temperature),
    **_both_dtypes("top_k", top_k),
    **_both_dtypes("top_p", top_p),
}
