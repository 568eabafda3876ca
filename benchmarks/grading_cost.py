"""What one submission costs: processor seconds of the whole process tree, and how often it waits.

    python benchmarks/grading_cost.py                  the solution, and one with a known bug
    python benchmarks/grading_cost.py --repeats 5
    python benchmarks/grading_cost.py SUBMISSION ...   folders of modules

Each is graded call by call, as the first two of a run are, and then on the recording that all
others are graded on (see grader/grading/rehearsal.py), with the ratio of the two.

What a run pays once (the hidden cases, imports) is not counted, but for the recording, which has a
line of its own: every submission is graded in a fork of one warm process, as in `grader run`. The
tree is counted by a control group (which takes
root): the usual count of children misses sandboxed workers. Where none can be made, the grader's
own process alone is told. On a busy machine compare two commits by turns, and believe ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from grade_class import control_group, seconds_in  # noqa: E402

import grader.running.preload  # noqa: E402,F401, warm as the server of `grader run`
from assignment.harness.parts import STUDENT_MODULES  # noqa: E402
from grader.grading import rehearsal  # noqa: E402
from grader.grading.submission import run_suite  # noqa: E402
from grader.grading.suite import Suite  # noqa: E402
from grader.known_bugs.catalogue import bug_named  # noqa: E402
from grader.known_bugs.patch import patched_modules  # noqa: E402
from grader.sandbox import Limits  # noqa: E402
from grader.sandbox.channel import Channel  # noqa: E402

FAILING = "position-zero"


@dataclass(frozen=True)
class Cost:
    """Of one submission: seconds of the grader's process and of all, waits for a worker, tests."""

    parent: float
    tree: float | None
    waits: int
    passed: int
    tests: int


def cost_of(suite: Suite, prepared: Path, group: Path | None) -> Cost:
    """Grade in a fork of this process, as `grader run` does."""
    before = seconds_in(group) if group else 0.0
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if group:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            os.write(writing, json.dumps(_cost_here(suite, prepared)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:
        sys.exit("the grader failed; its message is above")
    parent, *counts = json.loads(answer)
    return Cost(parent, seconds_in(group) - before if group else None, *counts)


def _cost_here(suite: Suite, prepared: Path) -> tuple[float, int, int, int]:
    waits = 0
    ask, ask_ahead = Channel.ask, Channel.ask_ahead

    def counted(way: Any) -> Any:
        def asked(*arguments: Any) -> Any:
            nonlocal waits
            waits += 1
            return way(*arguments)

        return asked

    Channel.ask, Channel.ask_ahead = counted(ask), counted(ask_ahead)  # type: ignore[method-assign]
    before = time.process_time()
    outcome = run_suite(suite, prepared, "auto", Limits(), 0)
    parent = time.process_time() - before
    passed = sum(test.state == "passed" for test in outcome.tests)
    return parent, waits, passed, len(outcome.tests)


def prepare(folder: Path, submission: Path | None) -> Path:
    """A submission as intake leaves it; None for the one with a known bug."""
    prepared = folder / (submission.name if submission else FAILING)
    package = prepared / "assignment"
    package.mkdir(parents=True)
    for module in sorted((ROOT / "solution").glob("*.py")):
        shutil.copy(module, package)
    for module in STUDENT_MODULES if submission else ():
        own = submission / f"{module}.py"
        shutil.copy(own if own.is_file() else ROOT / "assignment" / own.name, package)
    if submission is None:
        for module, text in patched_modules(bug_named(FAILING), package).items():
            (package / f"{module}.py").write_text(text, encoding="utf-8")
    return prepared


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("submissions", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        scratch.chmod(0o755)  # a worker is another user
        suite = Suite.load(bytes(32), False, scratch)
        before = time.process_time()
        rehearsal.record(suite, "auto", Limits(), 0)
        print(f"the recording: {time.process_time() - before:.2f} CPU s, and its worker's")
        wanted = options.submissions or [ROOT / "solution", None]
        with control_group() as group:
            for prepared in [prepare(scratch, one) for one in wanted]:
                ways = (suite.unrecorded(), suite)
                rounds = [
                    [cost_of(way, prepared, group) for way in ways] for _ in range(options.repeats)
                ]
                for name, costs in zip(
                    ("by calls", "recorded"), zip(*rounds, strict=True), strict=True
                ):
                    print(f"{prepared.name:20} {name} {told(costs)}", flush=True)
                print(f"{'':20} {ratio(rounds)}", flush=True)
        suite.close()


def ratio(rounds: list[list[Cost]]) -> str:
    """How much less the second way takes, the median of turns."""
    trees = [one.tree / other.tree for one, other in rounds if one.tree and other.tree]
    own = statistics.median(one.parent / other.parent for one, other in rounds)
    tree = f"{statistics.median(trees):.1f}" if trees else "-"
    return f"times less: {tree}, the grader's own {own:.1f}"


def told(costs: Sequence[Cost]) -> str:
    """The median of some runs of one submission."""
    parent, one = statistics.median(cost.parent for cost in costs), costs[0]
    trees = [cost.tree for cost in costs if cost.tree is not None]
    tree = f"{statistics.median(trees):.2f}" if trees else "(no control group)"
    return (
        f"{tree} CPU s, the grader's own {parent:.2f}; {one.waits} waits for the worker, "
        f"{one.passed} of {one.tests} tests passed"
    )


if __name__ == "__main__":
    main()
