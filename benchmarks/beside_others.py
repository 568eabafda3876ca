"""A right submission graded beside processes that take the cores from it: it must lose nothing.

    python benchmarks/beside_others.py                     ten busy loops, examples' correct-loops
    python benchmarks/beside_others.py --busy 30 --submission examples/submissions/correct-einsum

Prints its points and seconds, with and without them; exits 1 when a point is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from grade_class import ROOT, grade
from rich.console import Console
from rich.table import Table

from grader.results.record import read_record

BUSY = "while True: pass"
STUDENT = "student"


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that never sleep."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--busy", type=int, default=10)
    default = ROOT / "examples" / "submissions" / "correct-loops"
    parser.add_argument("--submission", type=Path, default=default)
    options = parser.parse_args()
    table = Table("busy loops", "state", "points", "of", "seconds")
    is_complete = True
    for count in (0, options.busy):
        with tempfile.TemporaryDirectory() as scratch, busy_loops(count):
            folder, out = Path(scratch) / "class", Path(scratch) / "results"
            shutil.copytree(options.submission, folder / STUDENT)
            seconds, _ = grade(folder, out, 1, Path(scratch) / "secret.hex")
            result, refusal = read_record(out, STUDENT)
        if result is None:
            sys.exit(f"no result: {refusal}")
        points = f"{result.total:g}", f"{result.max_total:g}"
        table.add_row(str(count), result.state, *points, f"{seconds:.1f}")
        is_complete = is_complete and result.total == result.max_total
    Console().print(table)
    sys.exit(0 if is_complete else 1)


if __name__ == "__main__":
    main()
