"""What the exercises can ask for, and the units in which an answer may be written."""

from __future__ import annotations

from fractions import Fraction

from .words import tr

_TENS = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_SHORT_SCALE = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_FLOP = ("FLOP", "FLOPs", "FLOPS", "flop", "flops", "Flop", "Flops")


def _with_prefixes(prefixes: dict[str, int], base: int, *nouns: str) -> dict[str, Fraction]:
    return {
        f"{prefix}{noun}": Fraction(base) ** power
        for prefix, power in prefixes.items()
        for noun in nouns
    }


def _bytes() -> dict[str, Fraction]:
    units = _with_prefixes(_TENS, 10, "B", "byte", "bytes", "Byte", "Bytes", "字节")
    units |= _with_prefixes(_BINARY, 2, "B", "byte", "bytes")
    lazy = {p.lower(): power for p, power in _TENS.items()}
    units |= _with_prefixes({p: n for p, n in lazy.items() if p}, 10, "b")
    units |= _with_prefixes({p.lower(): power for p, power in _BINARY.items()}, 2, "b")
    bits = _with_prefixes(_TENS, 10, "bit", "bits", "比特")
    bits |= _with_prefixes({p: n for p, n in _TENS.items() if p != p.lower() or not p}, 10, "b")
    bits |= _with_prefixes(_BINARY, 2, "b", "bit", "bits")
    return {unit: factor / 8 for unit, factor in bits.items()} | units


def _flops() -> dict[str, Fraction]:
    units = _with_prefixes(_TENS | _SHORT_SCALE, 10, *_FLOP, "")
    return units | dict.fromkeys(("次", "次运算", "次浮点运算", "operations", "ops"), Fraction(1))


_NUMBERS = (
    "",
    "numbers",
    "entries",
    "components",
    "dimensions",
    "dims",
    "个",
    "个数",
    "个数字",
    "维",
)

# What can be asked for, and the units of each without the spaces in them. The last two are never
# asked for: they are here to be recognised.
UNITS: dict[str, dict[str, Fraction]] = {
    "FLOP": _flops(),
    "count": dict.fromkeys(_NUMBERS, Fraction(1)),
    "bytes": _bytes(),
    "FLOP per second": _with_prefixes(_TENS, 10, *(f"{flop}/s" for flop in _FLOP)),
}


def name_of(kind: str) -> str:
    """What is asked for, in words."""
    return {
        "FLOP": tr("a number of floating-point operations"),
        "count": tr("a plain number"),
        "bytes": tr("a number of bytes"),
        "FLOP per second": tr("a speed"),
    }[kind]


def example_of(kind: str) -> str:
    """How an answer of this kind may look; no answer to anything."""
    return {
        "FLOP": '"3.25 TFLOP", "3.25e12 FLOP"',
        "count": '"36", "1.25"',
        "bytes": '"1.50 GiB", "1.61 GB"',
        "FLOP per second": '"312 TFLOP/s"',
    }[kind]
