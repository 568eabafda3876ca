"""Grades the corpus with the real pool and suite, and watches what it leaves behind."""

import contextlib
import ctypes
import gc
import json
import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import gettempdir

from assignment.harness.parts import STUDENT_MODULES
from grader.base.seeds import load_secret
from grader.grading.submission import run_suite
from grader.grading.suite import SUITE_VERSION, Suite
from grader.intake.course import Course
from grader.intake.submissions import Found, find_submissions
from grader.results.summary import Summary
from grader.running.child import Grading
from grader.running.locks import results_lock
from grader.running.pool import grade_all
from grader.sandbox import Limits

from . import built, sources
from .attack import Attack, Place

COURSE = Path(__file__).resolve().parents[2]
# Small budgets: what hangs does so for seconds. Right code needs hundredths of them.
LIMITS = Limits(call_seconds=1.0, idle_seconds=1.0, total_seconds=20.0, memory_mib=768)
ALL: tuple[Attack, ...] = (*sources.programs(), *built.BUILT)
# The same hidden cases in every run; by this one, the first draw of one was the public case.
SECRET = "6b" * 32
# Where a submission or an archive might leave something; the corpus marks its own names.
PUBLIC = ("/", "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/lock", str(COURSE))
HONEST = ("honest_first", "honest_middle", "honest_last")
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Report:
    """What came of a run.

    Attributes:
        students: by attack, the student's id that it was graded as.
        memory: MiB that the grading process held after each submission.
        peaks: MiB at most of each process that graded a submission.
        cpu_seconds: of each such process and its workers.
        leftovers: processes and files that should not be there, in words.
    """

    students: dict[str, str] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)


def solution() -> dict[str, str]:
    """The sources of the solution's modules."""
    paths = (COURSE / "solution").glob("*.py")
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def lay_out(folder: Path, out: Path, attacks: tuple[Attack, ...] = ALL) -> dict[str, Path]:
    """Hand in every attack and three honest submissions; where each lies."""
    folder.mkdir(parents=True)
    place = Place(folder, solution(), COURSE)
    handed_in = {}
    for attack in attacks:
        if isinstance(attack, sources.Program):
            handed_in[attack.name] = sources.hand_in(attack, place, out)
        else:
            handed_in[attack.name] = attack.build(place)
    for name in HONEST:
        handed_in[name] = folder / name
        handed_in[name].mkdir()
        for module in STUDENT_MODULES:
            (folder / name / f"{module}.py").write_text(place.solution[module], encoding="utf-8")
    return handed_in


def grade(
    folder: Path,
    out: Path,
    secret: Path,
    sandbox: str,
    jobs: int,
    watch: Path,
    attacks: tuple[Attack, ...] = ALL,
) -> Report:
    """Lay the class out in `folder`, grade it into `out`, and report. One call per process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans come here, to be seen
    handed_in = lay_out(folder, out, attacks)
    course = Course.load()
    report = Report()
    with results_lock(out):
        suite = Suite.load(load_secret(secret).key, False, out)
        with contextlib.closing(suite):
            grading = Grading(
                out=out,
                run=partial(watched_run, watch),
                suite=suite,
                suite_hash=suite.hash,
                suite_version=SUITE_VERSION,
                course=course,
                sandbox=sandbox,
                limits=LIMITS,
            )
            found = in_order(find_submissions([folder], course), handed_in)
            names = {path: name for name, path in handed_in.items()}
            report.students.update({names[f.sources[0]]: f.student for f in found})
            for summary in grade_all(found, grading, jobs):
                report.summaries.append(summary)
                gc.collect()
                report.memory.append(_resident_mib())
    report.leftovers.extend(_files_left(folder, out))
    report.leftovers.extend(f"at the end: {process}" for process in _gone_or(_below))
    for path in watch.iterdir():
        seen = json.loads(path.read_text())
        report.peaks.append(seen["peak_mib"])
        report.cpu_seconds.append(seen["cpu_seconds"])
        report.leftovers.extend(seen["left"])
    return report


def in_order(found: list[Found], handed_in: dict[str, Path]) -> list[Found]:
    """The attacks, with an honest submission before, between and behind them."""
    honest = {handed_in[name]: name for name in HONEST}
    three = {honest[f.sources[0]]: f for f in found if f.sources[0] in honest}
    attacks = [f for f in found if f.sources[0] not in honest]
    middle = len(attacks) // 2
    first, between, last = (three[name] for name in HONEST)
    return [first, *attacks[:middle], between, *attacks[middle:], last]


def watched_run(watch: Path, suite, prepared: Path, sandbox: str, limits: Limits, slot: int):
    """run_suite, and a note on the processes that are left after it and on its own memory."""
    outcome = run_suite(suite, prepared, sandbox, limits, slot)
    left = [f"after {prepared.parent.name}: {text}" for text in _gone_or(_below)]
    own, below = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime
    note = {"left": left, "peak_mib": own.ru_maxrss / 1024, "cpu_seconds": cpu}
    (watch / f"{os.getpid()}.json").write_text(json.dumps(note))
    return outcome


def _gone_or(look: Callable[[int], list[str]], seconds: float = 5.0) -> list[str]:
    """What `look` still finds after a grace that the kernel may need to bury the dead."""
    end = time.monotonic() + seconds
    while (found := look(os.getpid())) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def _files_left(folder: Path, out: Path) -> list[str]:
    """Marked names outside the class folder, and anything but records in the results."""
    places = [*map(Path, PUBLIC), Path.home(), Path.cwd(), folder.parent, Path(gettempdir())]
    names = [path for place in places if place.is_dir() for path in place.iterdir()]
    marked = [f"left behind: {path}" for path in names if built.TRACE in path.name]
    own = [path for path in out.rglob("*") if path.suffix != ".json" and path.name[0] != "."]
    return sorted({*marked, *(f"in the results: {path}" for path in own)})


def _below(pid: int) -> list[str]:
    """Living descendants of a process, without multiprocessing's own two helpers."""
    alive = {process.pid: process for process in processes()}
    found = []
    for process in alive.values():
        above = process
        while above is not None and above.parent != pid:
            above = alive.get(above.parent)
        if above is not None and not _expected(process):
            found.append(str(process))
    return found


def _expected(process: "Process") -> bool:
    """Multiprocessing's own two helpers serve until the main process ends."""
    return any(name in process.command for name in ("forkserver", "resource_tracker"))


@dataclass(frozen=True)
class Process:
    """A running process; `user` is the owner's number."""

    pid: int
    parent: int
    user: int
    command: str


def processes() -> Iterator[Process]:
    """Every process that /proc shows."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if state == "Z":  # dead, and not yet looked at by whoever started it
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            yield Process(int(entry.name), int(parent), entry.stat().st_uid, command[:200])


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / (1 << 20)
