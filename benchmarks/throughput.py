"""One class graded in every way, side by side in one run (`make bench-class`).

    python benchmarks/throughput.py                                   100 complete submissions
    python benchmarks/throughput.py --submissions 40 --json t.json --plot t.png
    python benchmarks/throughput.py --only "1 job" "in process"

Ways: one job, two jobs, two dask workers on this machine (a scheduler and two processes of one
thread are started for it), the same tests on the solution in one process without any sandbox, and
nbgrader's autograder on two. For each: processor seconds of the whole tree of processes a
submission (by a control group, which takes root), what one core-hour of them grades, how many times
nbgrader's that is, submissions per minute, the share of linear that two processes reach by the
wall's clock, and the peak memory of the parent and (dask) of the scheduler, which a larger class
must not raise. Start-up counts, so small classes look slow.

The class is copies of the solution, each with a comment of its own, as in grade_class.py.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace

from grade_class import (
    MODULES,
    ROOT,
    control_group,
    grade,
    inside,
    make_class,
    seconds_in,
)
from rich import box
from rich.console import Console
from rich.table import Table

MAX_IN_PROCESS = 50  # the mean of so many says enough, and they need not be copies
MAX_NBGRADER = 2  # each takes a kernel for every part, a minute
IN_PROCESS = "in process"


@dataclass(frozen=True)
class ClassToGrade:
    """A class on disk, and a folder for whatever a way of grading needs beside it."""

    folder: Path
    size: int
    modules: list[str]
    scratch: Path
    secret: Path


@dataclass(frozen=True)
class Measured:
    """One way of grading: `size` submissions took `seconds` on `cores` cores."""

    way: str
    size: int
    seconds: float
    cores: int
    parent_mib: float | None = None
    scheduler_mib: float | None = None
    cpu_seconds: float | None = None

    @property
    def per_minute(self) -> float:
        return 60 * self.size / self.seconds

    @property
    def cpu_each(self) -> float | None:
        return None if self.cpu_seconds is None else self.cpu_seconds / self.size

    @property
    def per_core_hour(self) -> float | None:
        return None if self.cpu_each is None else 3600 / self.cpu_each


# ----------------------------------------------------------------------------- ways of grading


def with_jobs(jobs: int, homework: ClassToGrade) -> Measured:
    """`grader run --jobs N`."""
    out = homework.scratch / f"jobs-{jobs}"
    seconds, memory = grade(homework.folder, out, jobs, homework.secret)
    return Measured(_plural(jobs, "job"), _graded(out), seconds, jobs, memory)


def with_dask(workers: int, homework: ClassToGrade) -> Measured | str:
    """`grader run --scheduler` with a scheduler and workers of one thread on this machine."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        return "not measured: dask.distributed is not installed"
    out = homework.scratch / f"dask-{workers}"
    with _cluster(workers, homework.scratch) as (address, scheduler):
        seconds, memory = grade(
            homework.folder, out, 2 * workers, homework.secret, "--scheduler", address
        )
        of_scheduler = _peak_mib(scheduler)
    way = _plural(workers, "dask worker")
    return Measured(way, _graded(out), seconds, workers, memory, of_scheduler)


def in_process(homework: ClassToGrade) -> Measured:
    """The same tests, public and hidden, on the solution in a process of its own: no sandbox, no
    pipe, no copy. The first run, which imports and compiles, is not counted."""
    size = min(homework.size, MAX_IN_PROCESS)
    command = [sys.executable, __file__, "--run-in-process", str(size)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Measured(IN_PROCESS, size, float(done.stdout.split()[-1]), 1)


def with_nbgrader(homework: ClassToGrade) -> Measured | str:
    """`nbgrader autograde` on the solution as a notebook and a kernel for each part."""
    try:
        import nbgrader  # noqa: F401
    except ImportError:
        return "not measured: nbgrader is not installed"
    from nbgrader_class import make_course, seconds_to_autograde

    size = min(homework.size, MAX_NBGRADER)
    course = make_course(homework.scratch, size)
    return Measured("nbgrader autograde", size, seconds_to_autograde(course), 1)


WAYS: dict[str, Callable[[ClassToGrade], Measured | str]] = {
    "1 job": lambda homework: with_jobs(1, homework),
    "2 jobs": lambda homework: with_jobs(2, homework),
    "2 dask workers": lambda homework: with_dask(2, homework),
    "in process": in_process,
    "nbgrader": with_nbgrader,
}


def run_in_process(size: int) -> None:
    """Print the seconds of `size` runs of the whole suite on the package `solution`."""
    from assignment.harness.student import LocalBackend
    from grader.grading.session import GradingSession, run_to_end
    from grader.grading.suite import Suite

    class Backend(LocalBackend):
        remote = SimpleNamespace(begin_test=lambda *_: None)

    with tempfile.TemporaryDirectory() as scratch:
        suite = Suite.load(bytes(32), False, Path(scratch))
        for number in range(size + 1):
            if number == 1:
                started = time.monotonic()
            session = GradingSession(suite, Backend("solution"))
            run_to_end(session)
            failed = [test.id for test in session.results if test.state != "passed"]
            if failed:
                sys.exit(f"the solution fails {failed[0]}")
        print(time.monotonic() - started)


# ------------------------------------------------------------------------------------- helpers


@contextlib.contextmanager
def _cluster(workers: int, scratch: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a scheduler with that many workers, all on this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    options = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    scheduler = _dask(scratch, *options)
    options = ["worker", address, "--nworkers", str(workers), "--nthreads", "1", "--no-dashboard"]
    nanny = _dask(scratch, *options)
    try:
        from distributed import Client

        with Client(address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
        yield address, scheduler.pid
    finally:
        for process in (nanny, scheduler):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _dask(scratch: Path, *arguments: str) -> subprocess.Popen:
    with (scratch / f"{arguments[0]}.log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=scratch,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _peak_mib(pid: int) -> float | None:
    with contextlib.suppress(OSError, IndexError):
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    return None


def _graded(out: Path) -> int:
    return len(list(out.glob("*.json")))


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def measure(
    homework: ClassToGrade, ways: list[str], console: Console, group: Path | None
) -> dict[str, Measured | str]:
    """What each way took, or why it was not measured."""
    found = {}
    for way in ways:
        console.print(f"{way} …", style="dim")
        before = seconds_in(group) if group else 0.0
        one = WAYS[way](homework)
        if group and isinstance(one, Measured):
            one = replace(one, cpu_seconds=seconds_in(group) - before)
        found[way] = one
    return found


def table_of(found: dict[str, Measured | str]) -> Table:
    """One row a way."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("way", no_wrap=True)
    heads = ("n", "CPU s each", "core-hour", "× nbgrader", "per min", "of linear")
    for name in (*heads, "parent MiB", "sched MiB"):
        table.add_column(name, justify="right")
    alone = found.get("1 job")
    slowest = found.get("nbgrader")
    for way, one in found.items():
        if isinstance(one, str):
            table.add_row(way, *["-"] * 8)
            continue
        times = share = None
        if isinstance(slowest, Measured) and slowest.cpu_each and one.cpu_each:
            times = slowest.cpu_each / one.cpu_each
        if isinstance(alone, Measured) and one.cores > 1:
            share = one.per_minute / alone.per_minute / one.cores
        table.add_row(
            one.way,
            str(one.size),
            _number(one.cpu_each, 2),
            _number(one.per_core_hour, 0),
            _number(times, 1),
            f"{one.per_minute:.0f}",
            _number(share, 2),
            _number(one.parent_mib, 0),
            _number(one.scheduler_mib, 0),
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def as_json(found: dict[str, Measured | str]) -> str:
    """All numbers, and the sentences where there are none."""
    rows = {
        way: {"reason": one}
        if isinstance(one, str)
        else {**asdict(one), "per_minute": one.per_minute, "per_core_hour": one.per_core_hour}
        for way, one in found.items()
    }
    machine = {"cores": os.cpu_count(), "python": sys.version.split()[0]}
    return json.dumps({"machine": machine, "ways": rows}, indent=1) + "\n"


def plot(found: dict[str, Measured | str], path: Path) -> None:
    """Bars of submissions per minute."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    measured = [one for one in found.values() if isinstance(one, Measured)]
    figure, axes = pyplot.subplots(figsize=(7, 0.6 * len(measured) + 1.2), layout="constrained")
    bars = axes.barh([one.way for one in measured], [one.per_minute for one in measured])
    axes.bar_label(bars, fmt="%.0f", padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("submissions per minute")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--modules", nargs="+", default=list(MODULES), choices=MODULES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--run-in-process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run_in_process:
        run_in_process(options.run_in_process)
        return
    console = Console()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        make_class(scratch / "class", options.submissions, options.modules)
        homework = ClassToGrade(
            scratch / "class", options.submissions, options.modules, scratch, scratch / "secret.hex"
        )
        with control_group() as group, inside(group):
            found = measure(homework, options.only, console, group)
    console.print(table_of(found))
    for way, reason in found.items():
        if isinstance(reason, str):
            console.print(f"{way}: {reason}")
    if options.json:
        options.json.write_text(as_json(found))
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
