"""The one tolerance, measured: how far correct code is from it, and how far known bugs are.

    python benchmarks/tolerances.py

For each part and dtype: the largest error of correct code (the solution, and the same with float32
rounding at every step where the dtype is float32), the smallest error of a known bug that fails a
test of that part on a fixed case, their ratio, and the tolerance between them. Errors are relative
as in assignment/harness/compare.py.
"""

from __future__ import annotations

import math
import sys
import tempfile
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assignment.harness import compare, plugin  # noqa: E402
from assignment.harness.points import grading_of  # noqa: E402
from assignment.harness.student import Student  # noqa: E402
from benchmarks.names import required_bugs  # noqa: E402
from grader.diagnosis.lookup import is_comparable, variant_with  # noqa: E402
from grader.grading.suite import Suite, collect_all  # noqa: E402


class Meter:
    """Takes the place of the comparison and notes errors instead of judging them."""

    def __init__(self) -> None:
        self.errors: dict[str, float] = {}

    def __call__(self, got: np.ndarray, expected: np.ndarray, what: str, axes: tuple) -> None:
        finite = np.isfinite(expected)
        one, other = (np.where(finite, a, 0).astype(np.float64) for a in (got, expected))
        scale = min(max(1.0, float(np.abs(other).max(initial=0.0))), compare.MAX_SCALE)
        error = float(np.abs(one - other).max(initial=0.0)) / scale
        dtype = str(expected.dtype)
        self.errors[dtype] = max(self.errors.get(dtype, 0.0), error)


def errors_of(item, variant, case_sets) -> dict[str, float]:
    """The errors by dtype that one test finds in a variant; empty where it fails otherwise."""
    meter = Meter()
    parameters = dict(item.callspec.params)
    oracle = plugin.Oracle(case_sets[parameters.pop("oracle")])
    original, compare._check_close = compare._check_close, meter
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            item.obj(student=Student(variant), oracle=oracle, **parameters)
    except Exception:
        return {}
    finally:
        compare._check_close = original
    return meter.errors


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        items, case_sets = collect_all(Suite.load(b"tolerances".ljust(32), False, Path(scratch)))
        items = [item for item in items if is_comparable(item)]
        largest: dict[tuple[int, str], float] = defaultdict(float)
        smallest: dict[tuple[int, str], tuple[float, str]] = defaultdict(lambda: (math.inf, ""))
        for item in items:
            for dtype, error in errors_of(item, variant_with(()), case_sets).items():
                key = grading_of(item).part, dtype
                largest[key] = max(largest[key], error)
        for bug in track(required_bugs(), description="known bugs"):
            seen: dict[tuple[int, str], float] = defaultdict(float)
            for item in items:
                for dtype, error in errors_of(item, variant_with((bug.name,)), case_sets).items():
                    key = grading_of(item).part, dtype
                    seen[key] = max(seen[key], error)
            for key, error in seen.items():
                # Nearer than this it is the solution's rounding: the bug is not in this part.
                if error > 10 * max(largest[key], 1e-15):
                    smallest[key] = min(smallest[key], (error, bug.name))
    _print(largest, smallest)


def _print(largest: dict, smallest: dict) -> None:
    table = Table(
        "part", "dtype", "correct, at most", "tolerance", "known bug, at least", "ratio", "it is"
    )
    for part, dtype in sorted(largest):
        error, name = smallest[part, dtype]
        correct = largest[part, dtype]
        ratio = f"{error / max(correct, 1e-17):.0e}" if math.isfinite(error) else "-"
        tolerance = f"{compare.TOLERANCE[dtype]:.0e}"
        table.add_row(str(part), dtype, f"{correct:.1e}", tolerance, f"{error:.1e}", ratio, name)
    Console().print(table)


if __name__ == "__main__":
    main()
