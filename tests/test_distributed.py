"""Grading on a cluster: a real scheduler and two real workers, each below a nanny, on this machine.

Most classes here are graded by a stand-in for the suite: what a submission's attention.py says is
what happens. One test grades real submissions with the real suite."""

import contextlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from late import late
from rich.console import Console

from grader import grade_class as grader_run
from grader.base.errors import GraderError, Interrupted, NothingToGrade
from grader.cluster import client as cluster_client
from grader.cluster import packing
from grader.cluster.client import check_workers, connected, grade_on_cluster
from grader.cluster.packing import pack, unpack
from grader.intake.contents import IntakeLimits
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import Found, find_submissions
from grader.results.history import without_times
from grader.results.record import SubmissionResult, make_result, read_record
from grader.running.child import Grading
from grader.running.pool import grade_all
from grader.running.protocols import GradingSuite, Outcome
from grader.sandbox import Limits

distributed = late("distributed", "dask.distributed is not installed: no cluster")

ROOT = Path(__file__).resolve().parents[1]
PRELOAD = ("grader.running.pool",)
ALLOWED_FAILURES = 1  # of the scheduler: a task may see this many workers die, and one more

FAKE_SUITE = """
import os, signal, time
from dataclasses import dataclass
from multiprocessing import parent_process
from pathlib import Path
from types import SimpleNamespace
from grader.base.errors import GraderError
from grader.intake.course import Course
from grader.results.record import TestResult

class Suite:
    blank_tests, real_model = (), None

    def hash_now(self, secret):
        return "s1"

    def close(self):
        pass

@dataclass(frozen=True)
class Recipe:
    package: str
    name: str = "s1"

    def hash(self):
        return os.environ.get("FAKE_HASH", self.name)
    def load(self, scratch):
        return Suite()
    def course(self):
        return Course(Path(self.package), ("attention",), ())
    def tier(self, sandbox):
        return "fake"
    def require(self):
        if "FAKE_PROBLEM" in os.environ:
            raise GraderError(os.environ["FAKE_PROBLEM"])

def set_environment(name, value):  # on a worker: os.environ itself would travel as a copy
    os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value

def run(suite, prepared, sandbox, limits, slot):
    what, *rest = (prepared / "assignment" / "attention.py").read_text().split()[1:]
    if what == "raise":
        raise ValueError("a bug in the harness")
    if what == "exit":
        os._exit(7)
    if what == "slow":
        time.sleep(0.3)
    if what == "hang":
        time.sleep(600)
    if what == "killworker":
        with open(rest[0], "a") as deaths:
            deaths.write(f"{parent_process().pid}\\n")
        os.kill(parent_process().pid, signal.SIGKILL)
        time.sleep(600)
    if what == "tellslot":
        time.sleep(1)
        return outcome(str(slot))
    return outcome("hi")

def outcome(notes):
    return SimpleNamespace(tests=[a_test()], sandbox="portable", tier="fake", worker_notes=notes,
                           diagnoses=(), generated_text="", expected_text="")

def a_test():
    return TestResult(id="t", part=1, section="1.1", title="softmax", visibility="public",
                      points=1.0, max_points=2.0, state="passed", seconds=0.1)
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    """The folder of the stand-in suite, importable here, on the workers and in their children."""
    folder = tmp_path_factory.mktemp("fakes")
    (folder / "fake_cluster_suite.py").write_text(FAKE_SUITE)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("fake_cluster_suite", None)


@pytest.fixture(scope="module")
def start(tmp_path_factory, fakes):
    """Starts `dask …` with the grader and the stand-in importable; ends it with the module."""
    scratch = tmp_path_factory.mktemp("workers")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(fakes)]),
        "TMPDIR": str(scratch),
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(ALLOWED_FAILURES),
    }
    with contextlib.ExitStack() as started:

        def start(*arguments: str) -> subprocess.Popen:
            log = started.enter_context((scratch / f"{arguments[0]}.log").open("a"))
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments],
                cwd=scratch,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            started.callback(_end, process)
            return process

        start.scratch = scratch
        yield start


def _end(process: subprocess.Popen) -> None:
    """The process and all that it started: nannies outlive a killed parent."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(3)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_scheduler(start) -> tuple[str, subprocess.Popen]:
    port = free_port()
    process = start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    return f"tcp://127.0.0.1:{port}", process


@pytest.fixture(scope="module")
def scheduler(start) -> str:
    """The address of a scheduler with two workers of one thread."""
    address, _ = start_scheduler(start)
    # One command: importing dask takes longer than starting the second worker.
    start("worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
    with distributed.Client(address, timeout=30, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    return address


@pytest.fixture
def client(scheduler):
    with connected(scheduler) as client:
        client.wait_for_workers(2, timeout=30)
        yield client


@pytest.fixture
def recipe(tmp_path, fakes):
    import fake_cluster_suite

    package = tmp_path / "trusted" / "assignment"
    package.mkdir(parents=True)
    (package / "attention.py").write_text("# stub\n")
    return fake_cluster_suite.Recipe(str(package))


@pytest.fixture
def grading(tmp_path, recipe) -> Grading:
    import fake_cluster_suite

    out = tmp_path / "results"
    out.mkdir()
    suite = fake_cluster_suite.Suite()
    limits = Limits(slot_seconds=60)
    return Grading(out, fake_cluster_suite.run, suite, "s1", "1", recipe.course(), limits=limits)


def test_the_stand_ins_offer_what_the_pool_asks_for(grading):
    import fake_cluster_suite

    assert isinstance(grading.suite, GradingSuite)
    assert isinstance(fake_cluster_suite.outcome(""), Outcome)


def hand_in(folder: Path, **work: str) -> Path:
    """A class in which each student's attention.py tells the stand-in suite what to do."""
    for student, what in work.items():
        (folder / student).mkdir(parents=True, exist_ok=True)
        (folder / student / "attention.py").write_text(f"# {what} {student}\n")
    return folder


def graded(class_folder: Path, grading: Grading, client, recipe, **options) -> dict:
    found = find_submissions([class_folder], grading.course)
    running = grade_on_cluster(
        found, grading, [], client=client, recipe=recipe, preload=PRELOAD, **options
    )
    return {summary.student: summary for summary in running}


def contents(folder: Path) -> dict[str, dict]:
    """Every record without its times."""
    records = (SubmissionResult.model_validate_json(p.read_bytes()) for p in folder.glob("*.json"))
    return {r.student: without_times(r.model_dump(mode="json")) for r in records}


def wait_until(condition, what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def worker_pids(client) -> set[int]:
    return set(client.run(os.getpid).values())


def mixed_class(folder: Path) -> Path:
    """Every kind of submission, and what goes wrong with them."""
    slow = {f"s{number}": "slow" for number in range(8)}
    hand_in(folder, **slow, raised="raise", died="exit")
    (folder / "linked").mkdir()
    (folder / "linked" / "attention.py").write_text("# pass linked\n")
    (folder / "linked" / "rope.py").symlink_to("/etc/hostname")
    (folder / "link").symlink_to("/etc")
    (folder / "broken.zip").write_bytes(b"dear grader")
    (folder / "empty").mkdir()
    shutil.make_archive(str(folder / "packed"), "zip", folder / "s0")
    with tarfile.open(folder / "twice.tar.gz", "w:gz") as archive:
        for name in ("a/attention.py", "b/attention.py", "b/inner.zip"):
            archive.add(folder / "s1" / "attention.py", name)
    (folder / "book.ipynb").write_text('{"cells": [], "nbformat": 4}')
    return folder


def test_a_worker_killed_in_between_changes_no_result(tmp_path, grading, recipe, client, start):
    work = mixed_class(tmp_path / "class")
    alone = replace(grading, out=tmp_path / "alone")
    alone.out.mkdir()
    states = {
        s.student: s.state
        for s in grade_all(find_submissions([work], alone.course), alone, 2, PRELOAD)
    }
    assert states["s0"] == states["packed"] == "graded" and states["broken"] == "missing"
    assert states["died"] == states["raised"] == "error"

    before = worker_pids(client)
    victim = min(before)

    def kill() -> None:
        wait_until(lambda: len(list(grading.out.glob("*.json"))) >= 4, "four results")
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    on_cluster = graded(work, grading, client, recipe)
    killer.join()
    client.wait_for_workers(2, timeout=30)
    assert victim not in worker_pids(client)
    assert {student: summary.state for student, summary in on_cluster.items()} == states
    assert contents(grading.out) == contents(alone.out)
    check_workers(client, recipe, "auto")  # who takes the dead one's place tidies up after it
    left = [path for path in start.scratch.rglob(".scratch-*") if "hidden" not in path.name]
    assert not left


def test_who_kills_workers_is_an_error_and_the_others_are_graded(tmp_path, grading, recipe, client):
    deaths = tmp_path / "deaths"
    deaths.touch()
    work = hand_in(tmp_path / "class", a="pass", b=f"killworker {deaths}", c="pass", d="slow")
    summaries = graded(work, grading, client, recipe)
    assert {s.student: s.state for s in summaries.values()} == {
        "a": "graded",
        "b": "error",
        "c": "graded",
        "d": "graded",
    }
    died = deaths.read_text().split()
    assert len(died) == len(set(died)) == 2 * (ALLOWED_FAILURES + 1)
    assert "The workers that graded this submission died, 2 of them" in summaries["b"].problem
    assert read_record(grading.out, "b")[0].submission_hash == ""


def test_an_earlier_result_is_kept_and_a_changed_submission_is_not(
    tmp_path, grading, recipe, client
):
    work = hand_in(tmp_path / "class", a="pass", b="pass", c="raise", d="pass")
    graded(work, grading, client, recipe)
    inode = (grading.out / "a.json").stat().st_ino
    (work / "b" / "attention.py").write_text("# pass  b\n")
    (grading.out / "d.json").write_bytes((grading.out / "d.json").read_bytes()[:-30])
    again = graded(work, grading, client, recipe)
    assert {s.student: s.kept for s in again.values()} == {
        "a": True,
        "b": False,
        "c": False,
        "d": False,
    }
    assert (grading.out / "a.json").stat().st_ino == inode
    assert any(note.fields["why"] == "damaged" for note in read_record(grading.out, "d")[0].notes)
    regraded = graded(work, replace(grading, regrade=True), client, recipe)
    assert not regraded["a"].kept


def test_only_a_few_submissions_are_under_way(tmp_path, grading, recipe, client, monkeypatch):
    packed = []

    def counted(found):
        packed.append(found.student)
        return pack(found)

    pack = cluster_client.pack
    monkeypatch.setattr(cluster_client, "pack", counted)
    work = hand_in(tmp_path / "class", **{f"s{number}": "pass" for number in range(8)})
    found = find_submissions([work], grading.course)
    options = {"client": client, "recipe": recipe, "preload": PRELOAD}
    running = grade_on_cluster(found, grading, [], at_once=2, **options)
    for n_done, summary in enumerate(running, start=1):
        assert summary.state == "graded"
        assert len(packed) - n_done < 2
    assert len(packed) == 8
    assert cluster_client._window(client, None)() == 4  # twice the threads


@pytest.fixture
def environment(client):
    """Sets a variable on workers until the test's end."""
    import fake_cluster_suite

    names = {"FAKE_HASH", "FAKE_PROBLEM"}
    yield (
        lambda **options: (
            lambda name, value: client.run(
                fake_cluster_suite.set_environment, name, value, **options
            )
        )
    )
    for name in names:
        client.run(fake_cluster_suite.set_environment, name, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="slots are locked as root only")
def test_workers_of_one_machine_share_no_slot(tmp_path, grading, recipe, client):
    summaries = graded(
        hand_in(tmp_path / "class", a="tellslot", b="tellslot"), grading, client, recipe
    )
    assert [summary.state for summary in summaries.values()] == ["graded"] * 2
    slots = {read_record(grading.out, student)[0].output_tail for student in summaries}
    assert len(slots) == 2 and "0" not in slots


def test_a_worker_that_would_grade_otherwise_is_refused(
    tmp_path, grading, recipe, client, environment
):
    odd = sorted(client.nthreads())[1]
    set_on_one, set_on_all = environment(workers=[odd]), environment()
    assert [fact.tier for fact in check_workers(client, recipe, "auto")] == ["fake", "fake"]

    set_on_one("FAKE_PROBLEM", "The real model is not there.")
    with pytest.raises(GraderError, match=rf"{odd} on .+ cannot grade: The real model is not"):
        check_workers(client, recipe, "auto")
    set_on_one("FAKE_HASH", "s2")
    with pytest.raises(GraderError, match=rf"{odd} on .+: the suite s2 \(here s1\)"):
        check_workers(client, recipe, "auto")

    # Who came after the check is found out by the first task.
    set_on_all("FAKE_HASH", "s2")
    work = hand_in(tmp_path / "class", a="pass", b="pass")
    with pytest.raises(GraderError, match=r"another version of the suite \(s2, not s1\)"):
        graded(work, grading, client, recipe)
    assert not contents(grading.out)


def test_nobody_there_is_a_sentence(tmp_path, grading, recipe, start):
    with (
        pytest.raises(GraderError, match=r"No dask scheduler answers at tcp://127\.0\.0\.1:1 "),
        connected("tcp://127.0.0.1:1", timeout_s=1),
    ):
        pass
    with pytest.raises(GraderError, match="No dask scheduler answers at who:"), connected("who:"):
        pass
    address, process = start_scheduler(start)
    wait_until(lambda: _answers(address), "a scheduler")
    with pytest.raises(GraderError, match="has no workers"), connected(address, timeout_s=1):
        pass
    found = find_submissions([hand_in(tmp_path / "class", a="pass", b="pass")], grading.course)
    options = {"recipe": recipe, "preload": PRELOAD, "patience_s": 0.5}
    with distributed.Client(address, set_as_default=False) as client:
        running = grade_on_cluster(found, grading, [], client=client, **options)
        with pytest.raises(GraderError, match="has had no workers for"):
            next(running)
        options["patience_s"] = 60
        running = grade_on_cluster(found, grading, [], client=client, **options)
        threading.Timer(0.5, process.kill).start()
        with pytest.raises(GraderError, match=r"scheduler (is gone|has lost).+same command again"):
            next(running)


def _answers(address: str) -> bool:
    host, port = address.removeprefix("tcp://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


def test_what_is_no_record_of_this_submission_is_an_error(grading):
    def outcome(result, **changes):
        content = result.model_copy(update=changes).model_dump_json().encode()
        future = SimpleNamespace(exception=lambda: None, result=lambda: (content, False))
        return cluster_client._outcome(found, future, grading, 1.0)[0]

    found = SimpleNamespace(student="ana", source_name="ana", notes=())
    fields = {"source": "ana", "submission_hash": "h", "suite_hash": "s1", "suite_version": "1"}
    result = make_result(student="ana", state="graded", **fields)
    assert outcome(result).state == "graded"
    for change in ({"student": "bob"}, {"suite_hash": "s2"}, {"total": 3.0}):
        bad = outcome(result, **change)
        assert (bad.student, bad.state) == ("ana", "error")
        assert "not this submission's result" in bad.reason


def test_interrupt_keeps_what_is_done(tmp_path, grading, recipe, scheduler, monkeypatch):
    work = hand_in(tmp_path / "class", a="pass", b="pass", c="hang", d="hang")
    monkeypatch.setattr(grader_run.Course, "load", recipe.course)
    grading = replace(grading, limits=Limits(slot_seconds=3.0))
    monkeypatch.setattr(grader_run, "_grading", lambda *_: grading)
    monkeypatch.setattr(grader_run, "_recipe", lambda *_: recipe)
    there = [grading.out / "a.json", grading.out / "b.json"]

    def interrupt() -> None:
        wait_until(lambda: all(path.exists() for path in there), "two results")
        # To the process: any thread may take it, and what is held back stays so all the same.
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted, match=r"Stopped\. 2 of 4 results are kept"):
        grader_run.grade_class(
            [work], grading.out, scheduler=scheduler, secret_file=tmp_path / "s.hex", quiet=True
        )
    assert {path.name for path in grading.out.glob("*.json")} == {"a.json", "b.json"}


def test_real_submissions_get_what_they_get_here(tmp_path, scheduler, sample_class):
    names = ("correct-concatenated.zip", "bug-gqa-tiled", "half-finished")
    work = [sample_class / name for name in names]
    options = {"secret_file": tmp_path / "s.hex", "real_model": False}
    said = StringIO()
    here, there = tmp_path / "here", tmp_path / "there"
    grader_run.grade_class(work, here, quiet=True, **options)
    console = Console(file=said, width=200)
    grader_run.grade_class(work, there, scheduler=scheduler, console=console, **options)
    assert "3 submissions, workers: 2 on 1 machine(s), sandbox: " in said.getvalue()
    assert "3 graded" in said.getvalue()
    assert contents(there) == contents(here)


# --- Submissions as bytes ------------------------------


SECRET = b"root:x:0:0 the host's secret"


@pytest.fixture
def course(tmp_path) -> Course:
    package = tmp_path / "trusted" / "assignment"
    package.mkdir(parents=True)
    for name in ("attention", "rope"):
        (package / f"{name}.py").write_text("# stub\n")
    return Course(package, ("attention", "rope"), ())


def verdict(found: Found, folder: Path, course: Course) -> tuple:
    """What grading sees: files, hash and notes, or the reason why there is nothing."""
    try:
        prepared = prepare(found, folder, course)
    except NothingToGrade as reason:
        return found.student, found.source_name, found.notes, str(reason)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    return found.student, found.source_name, replace(prepared, folder=Path()), files


def a_class(folder: Path) -> Path:
    plain = folder / "plain"
    (plain / "sub").mkdir(parents=True)
    (plain / "attention.py").write_text("x = 1\n")
    (plain / "sub" / "helper.py").write_bytes(b"\xff not UTF-8")
    (plain / "data.bin").write_bytes(bytes(1000))
    (plain / "old.zip").write_bytes(b"PK")
    secret = folder.parent / "secret.py"
    secret.write_bytes(SECRET)
    (plain / "rope.py").symlink_to(secret)
    (plain / "folder").symlink_to(folder.parent)
    os.mkfifo(plain / "pipe.py")
    (folder / "book").mkdir()
    (folder / "book" / "hw.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "source": "def softmax(x): pass"}], "nbformat": 4}'
    )
    with zipfile.ZipFile(folder / "zipped.zip", "w") as archive:
        archive.writestr("deep/attention.py", "x = 2\n")
        archive.writestr("rope.py", "y = 2\n")
    (folder / "broken.tar.gz").write_bytes(b"\x1f\x8b broken")
    (folder / "nothing.zip").touch()
    (folder / "empty").mkdir()
    (folder / "linked").symlink_to(folder.parent)
    for number, module in enumerate(("attention", "rope")):
        (folder / f"doejane_12_3{number}_{module}.py").write_text(f"z = {number}\n")
    (folder / "large").mkdir()
    (folder / "large" / "attention.py").write_bytes(b"#" * (2 << 20))
    return folder


def test_what_is_graded_there_is_what_would_be_graded_here(tmp_path, course):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    found = find_submissions([a_class(tmp_path / "class")], course)
    kinds = {one.kind for one in found}
    assert kinds == {"folder", "archive", "modules", "nothing"} and len(found) == 9
    for one in found:
        here = verdict(one, tmp_path / "here" / one.student, course)
        sent = pickle.dumps(pack(one))
        assert SECRET not in sent
        there = unpack(pickle.loads(sent), tmp_path / f"there-{one.student}")
        assert not any(source.is_absolute() for source in pickle.loads(sent).sources)
        assert verdict(there, tmp_path / "there" / one.student, course) == here


def test_what_is_sent_is_bounded(tmp_path, course):
    small = IntakeLimits(archive_bytes=100, python_bytes=10, total_bytes=10)
    work = a_class(tmp_path / "class")
    for one in find_submissions([work], course):
        assert len(pickle.dumps(pack(one, small))) < 3000
    assert pack(Found("z", "archive", (work / "zipped.zip",)), small).kind == "nothing"


def test_an_archive_is_not_read_through_a_link_and_not_opened_here(tmp_path, monkeypatch):
    (tmp_path / "real.zip").write_bytes(SECRET)
    (tmp_path / "link.zip").symlink_to(tmp_path / "real.zip")
    with pytest.raises(OSError):
        pack(Found("ana", "archive", (tmp_path / "link.zip",)))
    monkeypatch.setattr(packing, "read_submission", lambda *_: 1 / 0)
    packed = pack(Found("ana", "archive", (tmp_path / "real.zip",)))
    assert packed.contents.files == {"real.zip": SECRET}
