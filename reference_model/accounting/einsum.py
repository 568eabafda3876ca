"""FLOPs of a contraction, read off its letters."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


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
