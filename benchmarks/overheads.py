"""What is paid beside the grading: processor seconds of commands on a class that is graded.

    python benchmarks/overheads.py [--students 1000]

One submission is graded; the class is copies of it and of its record. Then, each by a process of
its own: the help, a run that finds nothing to do (the first time, when it reads all, and again),
the scores (likewise), the report (likewise), and how soon its class page is open in a fresh
headless Chromium: from the start of the navigation to the first frame after the load event.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grade_class import MODULES, ROOT, control_group, inside, make_class, seconds_in
from rich import box
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(ROOT / "tests"))

from report_support import dump_dom

# What each is to take at most, see the table's column.
GOALS = {"help": 0.3, "resume": 0.002, "scores": 1.0, "report": 10.0, "page": 3.0}


@dataclass(frozen=True)
class Counted:
    """Runs `grader` commands and counts the processor seconds of all their processes.

    Without a control group (`group` None) those of children that are not waited for are missing.
    """

    group: Path | None

    def __call__(self, *arguments: str) -> float:
        command = [sys.executable, "-m", "grader", *arguments]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        before = self._seconds()
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"grader {' '.join(arguments)}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return self._seconds() - before

    def _seconds(self) -> float:
        if self.group is not None:
            return seconds_in(self.group)
        times = os.times()
        return times.children_user + times.children_system


def lay_out(cpu_of: Counted, folder: Path, students: int) -> list[str]:
    """A class of copies with a record each; the options of a run over it."""
    make_class(folder / "one", 1, MODULES)
    options = ["--no-real-model", "--quiet", "--secret-file", str(folder / "secret.hex")]
    cpu_of("run", str(folder / "one"), "--out", str(folder / "first"), *options)
    (source,) = (folder / "one").iterdir()
    record = json.loads((folder / "first" / f"{source.name}.json").read_text())
    (folder / "results").mkdir()
    for number in range(students):
        name = f"copy-{number:04d}"
        shutil.copytree(source, folder / "class" / name)
        text = json.dumps({**record, "student": name, "source": name})
        (folder / "results" / f"{name}.json").write_text(text)
    return ["run", str(folder / "class"), "--out", str(folder / "results"), *options]


def measure(cpu_of: Counted, folder: Path, students: int, table: Table) -> None:
    run = lay_out(cpu_of, folder, students)
    results, report = ["--results", str(folder / "results")], str(folder / "report")

    def told(what: str, seconds: float, goal: str = "", divided_by: int = 1) -> None:
        limit = f"{GOALS[goal] * 1000:g} ms" if goal else ""
        table.add_row(what, f"{seconds / divided_by * 1000:.1f} ms", limit)

    told("grader --help", cpu_of("--help"), "help")
    told("scores, from the records", cpu_of("scores", *results))
    told("scores, again", cpu_of("scores", *results), "scores")
    alone = cpu_of("run", str(folder / "one"), "--out", str(folder / "first"), *run[4:])
    told("a run over one, nothing to do", alone)
    told("a resume that reads all, a submission", cpu_of(*run) - alone, "", students)
    told("a resume, a submission", cpu_of(*run) - alone, "resume", students)
    told("report, first", cpu_of("report", *results, "--out", report), "report")
    told("report, again", cpu_of("report", *results, "--out", report), "report")
    page = Path(report) / "index.html"
    table.add_row("the class page", f"{page.stat().st_size / 1e6:.2f} MB", f"{GOALS['page']:g} MB")
    table.add_row("and it is open after", _opened(page), "")


def _opened(page: Path) -> str:
    for _ in range(10):
        html, _ = dump_dom(page, "", "--timeout=10000")
        # The browser may write the document out before the frame that is waited for.
        if found := re.search(r'data-opened-ms="(\d+)"', html):
            return f"{found[1]} ms"
    return "the page did not say"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=1000)
    options = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(f"of {options.students} students")
    table.add_column("CPU", justify="right")
    table.add_column("at most", justify="right")
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)  # a worker is another user
        with control_group() as group, inside(group):
            measure(Counted(group), Path(name), options.students, table)
    Console().print(table)


if __name__ == "__main__":
    main()
