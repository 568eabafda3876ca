"""FLOPs of a contraction, read off its letters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from reference_model.config import ModelConfig


def einsum_flops(spec: str, *shapes: Sequence[int]) -> int:
    """2 x the product of all sizes, each letter once (L2 §3.5).

    >>> einsum_flops("btd,df->btf", (2, 3, 4), (4, 5))
    240

    Args:
        spec: two operands and a result, such as "btd,df->btf"; no ellipsis.
        shapes: one for each operand.

    Raises:
        ValueError: operands and shapes do not fit together, or a letter has two sizes.
    """
    inputs, arrow, output = spec.replace(" ", "").partition("->")
    operands = inputs.split(",")
    if not arrow or len(operands) != 2 or not (inputs.replace(",", "") + output).isalpha():
        raise ValueError(f'expected a contraction of two operands like "ab,bc->ac", got {spec!r}')
    if len(operands) != len(shapes):
        raise ValueError(f"{spec!r} has {len(operands)} operands, but {len(shapes)} shapes came")
    sizes: dict[str, int] = {}
    for letters, shape in zip(operands, shapes, strict=True):
        if len(letters) != len(shape):
            raise ValueError(f"operand {letters!r} has {len(letters)} axes, its shape {shape!r}")
        for letter, size in zip(letters, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise ValueError(f"axis {letter!r} has sizes {sizes[letter]} and {size}")
    unknown = set(output) - sizes.keys()
    if unknown:
        raise ValueError(f"axis {min(unknown)!r} of the result is in no operand")
    return 2 * prod(sizes.values())


def layer_einsums(
    config: ModelConfig, tokens: int, batch: int = 1
) -> dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """The nine contractions of a layer's prefill: (spec, shape, shape) by name (L2 §3.5).

    Letters are those of *How to Scale Your Model*: B batch, T and S positions, D and F the widths
    of model and MLP, N query heads, K key/value heads, G of a group, H a head's width.
    """
    c = config
    x, hidden = (batch, tokens, c.d_model), (batch, tokens, c.d_ff)
    group_size = c.n_heads // c.n_kv_heads
    grouped = (batch, tokens, c.n_kv_heads, group_size, c.head_dim)
    cached = (batch, tokens, c.n_kv_heads, c.head_dim)
    weights = (batch, tokens, c.n_kv_heads, group_size, tokens)
    narrow = (c.d_model, c.n_kv_heads, c.head_dim)
    return {
        "query": ("btd,dnh->btnh", x, (c.d_model, c.n_heads, c.head_dim)),
        "key": ("btd,dkh->btkh", x, narrow),
        "value": ("btd,dkh->btkh", x, narrow),
        "scores": ("btkgh,bskh->btkgs", grouped, cached),
        "mixture": ("btkgs,bskh->btkgh", weights, cached),
        "output": (
            "btnh,nhd->btd",
            (batch, tokens, c.n_heads, c.head_dim),
            (c.n_heads, c.head_dim, c.d_model),
        ),
        "gate": ("btd,df->btf", x, (c.d_model, c.d_ff)),
        "up": ("btd,df->btf", x, (c.d_model, c.d_ff)),
        "down": ("btf,fd->btd", hidden, (c.d_ff, c.d_model)),
    }
