"""Kills the grader at random moments and looks whether anything is lost.

    python benchmarks/kill_grader.py                            200 submissions, 50 kills
    python benchmarks/kill_grader.py --submissions 12 --kills 5 --seed 1
    python benchmarks/kill_grader.py --real                     the real tests in the real sandbox

A class is graded twice into two folders: in peace, and with `kill -9` on the grader's main process
again and again, each time followed by the same command. Then a part of the class hands in other
work, some take theirs back, the suite changes, and both folders are graded anew, with the other
half of the kills. The folders must be equal apart from times, history included, and the reports of
changed scores too; no draft, scratch folder, held lock or process may be left.

By default a stand-in grades (a few milliseconds each), for the kills are meant for the grader.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from stub_grader import SUITE_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
AT_START = 0.25  # share of the kills that come before the first result can be there
END_S = 30.0  # by then all children of a killed grader must have ended
_PR_SET_CHILD_SUBREAPER = 36


# ---------------------------------------------------------------------------------------- class


def hand_in(folder: Path, number: int, work: str, real: bool) -> None:
    """One submission; `work` makes it different from all others."""
    student = folder / f"student-{number:04d}"
    student.mkdir(parents=True, exist_ok=True)
    code = (ROOT / "solution" / "attention.py").read_text() if real else ""
    (student / "attention.py").write_text(f"{code}# {number} {work}\n")


def change_class(folder: Path, size: int, real: bool) -> None:
    """Every third hands in other work, every twentieth (one at least) takes it back."""
    for number in range(0, size, 3):
        hand_in(folder, number, "second", real)
    for number in range(1, size, 20):
        shutil.rmtree(folder / f"student-{number:04d}")


# --------------------------------------------------------------------------------------- grader


@dataclass
class Grader:
    """The command that grades `folder` into `out`, and what its runs printed."""

    place: Path
    folder: Path
    out: Path
    jobs: int
    real: bool
    suite: str = "first"
    said: list[str] = field(default_factory=list)

    def start(self, **options) -> subprocess.Popen:
        if self.real:
            command = [sys.executable, "-m", "grader"]
        else:
            command = [sys.executable, "-c", "import stub_grader; stub_grader.grade_with_stub()"]
        command += ["run", str(self.folder), "--out", str(self.out), "--jobs", str(self.jobs)]
        # Another secret is another suite, for real too.
        command += ["--secret-file", str(self.place / f"{self.suite}.hex")]
        command += ["--no-real-model"]
        paths = [str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            SUITE_VARIABLE: str(self.place / self.suite),
        }
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.place,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                **options,
            )

    @property
    def log(self) -> Path:
        return self.place / f"{self.out.name}.log"

    def ended(self, process: subprocess.Popen) -> int:
        code = process.wait()
        self.said.append(self.log.read_text(errors="replace"))
        return code

    def run_to_end(self) -> tuple[float, float]:
        """Seconds until the first new record, and until the end."""
        before, started, first = written(self.out), time.monotonic(), 0.0
        process = self.start()
        while process.poll() is None:
            if not first and n_new(self.out, before):
                first = time.monotonic() - started
            time.sleep(0.005)
        seconds = time.monotonic() - started
        if self.ended(process) != 0:
            sys.exit(f"The grader failed by itself, without a kill:\n{self.said[-1]}")
        return first or seconds, seconds

    def n_changed(self) -> int:
        """How many scores changed, as the last run that said so has it."""
        counts = re.findall(r"(\d+) scores? changed", "\n".join(self.said))
        return int(counts[-1]) if counts else 0


def written(out: Path) -> dict[str, int]:
    """When each record was written."""
    if not out.is_dir():
        return {}
    files = (file for file in os.scandir(out) if file.name.endswith(".json"))
    return {file.name: file.stat().st_mtime_ns for file in files}


def n_new(out: Path, before: dict[str, int]) -> int:
    return len(written(out).items() - before.items())


# ------------------------------------------------------------------------------------- the kills


@dataclass
class Killer:
    """Kills one grader again and again at moments that `rng` chooses."""

    grader: Grader
    rng: random.Random
    start_s: float  # until the first result of an undisturbed run
    each_s: float  # between two of its results

    def kill(self, n_kills: int, n_to_grade: int, tell) -> None:
        """Spread over the whole class; some at once after the start, where the lock is taken."""
        before = written(self.grader.out)
        n_at_start = round(AT_START * n_kills)
        at_start = [number < n_at_start for number in range(n_kills)]
        self.rng.shuffle(at_start)
        targets = iter(sorted(self.rng.uniform(0, n_to_grade) for _ in range(n_kills)))
        for early in at_start:
            if early or not self._kill_once(next(targets), before):
                # Also where it had ended before the kill: then no other moment is left.
                while not self._kill_once(None, before):
                    pass
            tell()

    def _kill_once(self, target: float | None, before: dict[str, int]) -> bool:
        process = self.grader.start()
        if target is None:
            time.sleep(self.rng.uniform(0, self.start_s))
        else:
            while n_new(self.grader.out, before) < target and process.poll() is None:
                time.sleep(0.003)
            time.sleep(self.rng.uniform(0, 2 * self.each_s))
        process.send_signal(signal.SIGKILL)
        was_killed = self.grader.ended(process) == -signal.SIGKILL
        wait_for_children()
        if broken := unreadable_records(self.grader.out):
            sys.exit(f"After a kill these records are not whole: {', '.join(broken)}.")
        return was_killed


def adopt_orphans() -> bool:
    """Make what killed graders leave behind this process's children, as far as the system can."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1) == 0


def wait_for_children() -> None:
    end = time.monotonic() + END_S
    while left := descendants():
        if time.monotonic() > end:
            sys.exit(f"These processes outlive their killed grader: {left}.")
        time.sleep(0.01)


def descendants() -> list[int]:
    """The processes below this one that run; those that ended are collected."""
    if sys.platform != "linux":
        return []
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        pid = int(stat.parent.name)
        if state == "Z" and int(parent) == os.getpid():
            os.waitpid(pid, os.WNOHANG)
        else:
            parents[pid] = int(parent)
    mine, found = {os.getpid()}, True
    while found:
        found = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine |= found
    return sorted(mine - {os.getpid()})


# ------------------------------------------------------------------------------------ comparison


def unreadable_records(out: Path) -> list[str]:
    from grader.results.record import read_record

    return [name for name in written(out) if read_record(out, Path(name).stem)[0] is None]


def contents(out: Path) -> dict[str, list[dict]]:
    """Of each student the records, oldest first, without times."""
    from grader.results.history import earlier_records, without_times

    students = {path.stem for path in out.glob("*.json")}
    students |= {path.name for path in (out / "history").glob("*")}
    return {
        student: [
            without_times(json.loads(path.read_bytes()))
            for path in [*earlier_records(out, student), out / f"{student}.json"]
        ]
        for student in students
    }


def problems(peaceful: Grader, disturbed: Grader) -> list[str]:
    """What the kills changed or left behind, in sentences."""
    found = []
    expected, got = contents(peaceful.out), contents(disturbed.out)
    if wrong := sorted(s for s in expected | got if expected.get(s) != got.get(s)):
        found.append(f"{len(wrong)} students' records differ: {', '.join(wrong[:5])}.")
    if changed(peaceful.out) != changed(disturbed.out):
        found.append("The reports of changed scores differ.")
    if peaceful.n_changed() != disturbed.n_changed():
        found.append(
            f"{disturbed.n_changed()} scores are said to have changed, expected "
            f"{peaceful.n_changed()}."
        )
    ours = (".grader.lock", ".grader.handed_in", ".grader.index")
    if left := sorted(p.name for p in disturbed.out.rglob(".*") if p.name not in ours):
        found.append(f"Left behind: {', '.join(left)}.")
    with (disturbed.out / ".grader.lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.append("The lock is still held.")
        if lock.read():
            found.append("The lock says that a run is not finished.")
    if left := descendants():
        found.append(f"These processes are left: {left}.")
    return found


def changed(out: Path) -> list[tuple]:
    from grader.results.changes import read_changes

    rows = read_changes(out)
    return sorted((c.student, c.old.total if c.old else None, c.new.total, c.why) for c in rows)


# ------------------------------------------------------------------------------------------ main


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, help="of the moments; random if not given")
    parser.add_argument("--real", action="store_true", help="the real suite and sandbox")
    options = parser.parse_args()
    if options.submissions < 4 or options.kills < 2 or options.jobs < 1:
        parser.error("at least 4 submissions, 2 kills and 1 job are needed")
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}, {options.submissions} submissions, {options.kills} kills", flush=True)
    if not adopt_orphans():
        print("Processes that are left behind cannot be found on this system.", flush=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        place = Path(place).resolve()
        place.chmod(0o755)  # the sandbox's user passes through
        found, counts = kill_and_compare(place, options, random.Random(seed))
    seconds = f"{time.monotonic() - started:.0f} s"
    if found:
        sys.exit(f"Lost something ({seconds}, seed {seed}): " + " ".join(found))
    print(
        f"Nothing lost in {options.kills} kills ({seconds}): {counts}, equal to an undisturbed "
        "run apart from times; no draft, scratch folder, held lock or process left."
    )


def kill_and_compare(
    place: Path, options: argparse.Namespace, rng: random.Random
) -> tuple[list[str], str]:
    """The problems found, and in words how much was compared."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    size, real = options.submissions, options.real
    (place / "package").mkdir()
    (place / "package" / "attention.py").write_text("# stub\n")
    folder = place / "class"
    for number in range(size):
        hand_in(folder, number, "first", real)
    peaceful = Grader(place, folder, place / "peaceful", options.jobs, real)
    disturbed = Grader(place, folder, place / "disturbed", options.jobs, real)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns) as progress:
        bar = progress.add_task("kills", total=options.kills)
        for suite, n_kills in (
            ("first", options.kills // 2),
            ("second", options.kills - options.kills // 2),
        ):
            peaceful.suite = disturbed.suite = suite
            if suite == "second":
                change_class(folder, size, real)
            progress.update(bar, description=f"{suite} grading in peace")
            start_s, seconds = peaceful.run_to_end()
            n_to_grade = len(list(folder.iterdir()))
            each_s = max(0.0, seconds - start_s) / n_to_grade
            progress.update(bar, description=f"{suite} grading, kills")
            killer = Killer(disturbed, rng, start_s, each_s)
            killer.kill(n_kills, n_to_grade, lambda: progress.advance(bar))
            disturbed.run_to_end()
            wait_for_children()
    n_old = len(list((disturbed.out / "history").rglob("*.json")))
    counts = f"{len(written(disturbed.out))} records, {n_old} replaced ones"
    return problems(peaceful, disturbed), f"{counts}, {disturbed.n_changed()} changed scores"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
