"""What the exercises can ask for, and the units in which an answer may be written."""

from __future__ import annotations

from fractions import Fraction

from .words import tr

SHAPE = "shape"

_TENS = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50}
_SHORT_SCALE = {"thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
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


def _counts() -> dict[str, Fraction]:
    scales = {**_TENS, "B": 9, **_SHORT_SCALE}
    nouns = ("", "parameter", "parameters", "params", "param", "参数", "个参数", "个")
    return _with_prefixes(scales, 10, *nouns)


def _flops() -> dict[str, Fraction]:
    units = _with_prefixes(_TENS | _SHORT_SCALE, 10, *_FLOP, "")
    return units | dict.fromkeys(("次", "次运算", "次浮点运算", "operations", "ops"), Fraction(1))


def _intensities() -> dict[str, Fraction]:
    per = ("/B", "/byte", "/bytes", "/Byte", "perbyte", "/字节")
    flops = (*_FLOP, "次")
    return {f"{flop}{byte}": Fraction(1) for flop in flops for byte in per} | {"": Fraction(1)}


_TIMES = ("", "x", "X", "×", "times", "timesasmany", "timesasmuch", "fold", "-fold", "倍", ":1")
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
    "parameters": _counts(),
    "bytes": _bytes(),
    "FLOP": _flops(),
    "FLOP per byte": _intensities(),
    "times": dict.fromkeys(_TIMES, Fraction(1)),
    "share": {
        "": Fraction(1),
        **dict.fromkeys(("%", "percent", "percents", "pct"), Fraction(1, 100)),
    },
    "count": dict.fromkeys(_NUMBERS, Fraction(1)),
    "seconds": {
        **dict.fromkeys(("s", "seconds", "秒"), Fraction(1)),
        **dict.fromkeys(("ms", "毫秒"), Fraction(1, 10**3)),
        **dict.fromkeys(("µs", "μs", "us", "微秒"), Fraction(1, 10**6)),
    },
    "FLOP per second": _with_prefixes(_TENS, 10, *(f"{flop}/s" for flop in _FLOP)),
}


def name_of(kind: str) -> str:
    """What is asked for, in words."""
    return {
        "parameters": tr("a number of parameters"),
        "bytes": tr("a number of bytes"),
        "FLOP": tr("a number of floating-point operations"),
        "FLOP per byte": tr("FLOPs per byte"),
        "times": tr("how many times as much"),
        "share": tr("a share of the whole"),
        "count": tr("a plain number"),
        "seconds": tr("a time"),
        "FLOP per second": tr("a speed"),
        SHAPE: tr("rows and columns"),
    }[kind]


def example_of(kind: str) -> str:
    """How an answer of this kind may look; no answer to anything."""
    return {
        "parameters": '"6.74 B", "6.74e9"',
        "bytes": '"1.50 GiB", "1.61 GB"',
        "FLOP": '"3.25 TFLOP", "3.25e12 FLOP"',
        "FLOP per byte": '"2.50 FLOP/byte", "2.50"',
        "times": '"12.5 times", "12.5"',
        "share": '"31.5 %", "0.315"',
        "count": '"36", "1.25"',
        "seconds": '"2.50 ms"',
        "FLOP per second": '"312 TFLOP/s"',
        SHAPE: '"12 x 34"',
    }[kind]
