"""How long a class takes, and whether the grader's memory stays flat.

    python benchmarks/grade_class.py                    100 and then 1,000 complete submissions
    python benchmarks/grade_class.py --sizes 20 40
    python benchmarks/grade_class.py --sizes 1000 --modules attention      a class that has begun

The class is copies of the solution, each with a comment of its own so that none is taken for
another. Prints seconds, submissions per minute, and the parent's peak memory for each size: flat
means that the last column does not grow with the class.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from assignment.harness.parts import STUDENT_MODULES  # noqa: E402
from grader.base.seeds import load_secret  # noqa: E402

MODULES = STUDENT_MODULES
CONTROL_GROUPS = Path("/sys/fs/cgroup")


def make_class(folder: Path, size: int, modules: list[str]) -> None:
    """`size` different submissions that hold these modules of the solution."""
    for number in range(size):
        student = folder / f"student-{number:04d}"
        student.mkdir(parents=True)
        for module in modules:
            shutil.copy(ROOT / "solution" / f"{module}.py", student)
        with (student / f"{modules[0]}.py").open("a", encoding="utf-8") as file:
            file.write(f"\n# {student.name}\n")


def grade(folder: Path, out: Path, jobs: int, secret: Path, *options: str) -> tuple[float, float]:
    """Seconds and the grader's own peak memory in MiB (not its children's)."""
    command = [sys.executable, "-m", "grader", "run", str(folder), "--out", str(out)]
    command += ["--jobs", str(jobs), "--no-real-model", "--quiet", "--secret-file", str(secret)]
    command += options
    load_secret(secret)  # made here: to keep a copy of it, as `grader run` asks for, is no use
    started = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - started
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit("the grader failed; its message is above")
    bytes_each = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return seconds, usage.ru_maxrss * bytes_each / 2**20


# Counted by the kernel, for the usual count of children misses sandboxed workers.


@contextlib.contextmanager
def control_group() -> Iterator[Path | None]:
    """A control group that counts processor time; None where this user can make none."""
    old = CONTROL_GROUPS / "cpuacct"
    group = (old if old.is_dir() else CONTROL_GROUPS) / f"grading_cost_{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        with contextlib.suppress(OSError):  # something may still be ending in it
            group.rmdir()


@contextlib.contextmanager
def inside(group: Path | None) -> Iterator[None]:
    """This process and all that it starts are counted in the group."""
    if group is None:
        yield
        return
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (group.parent / "cgroup.procs").write_text(str(os.getpid()))


def seconds_in(group: Path) -> float:
    """What all processes that ever were in the group have computed."""
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    return int((group / "cpu.stat").read_text().split()[1]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--modules", nargs="+", default=list(MODULES), choices=MODULES)
    options = parser.parse_args()
    table = Table("submissions", "seconds", "per minute", "s each and core", "parent peak MiB")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder, out = Path(scratch) / "class", Path(scratch) / "results"
            make_class(folder, size, options.modules)
            seconds, memory = grade(folder, out, options.jobs, Path(scratch) / "secret.hex")
            n_graded = len(list(out.glob("*.json")))
        table.add_row(
            str(n_graded),
            f"{seconds:.1f}",
            f"{60 * n_graded / seconds:.0f}",
            f"{seconds * options.jobs / n_graded:.2f}",
            f"{memory:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
