"""The pool: one child per submission, whatever happens in it; resuming; locking; flat memory."""

import gc
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tarfile
import textwrap
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import GraderError
from grader.intake.course import Course
from grader.intake.submissions import find_submissions
from grader.results import summary as index
from grader.results.record import SubmissionResult, read_record, record_path
from grader.running import pool, slots, unchanged
from grader.running.child import Grading
from grader.running.locks import results_lock
from grader.running.pool import grade_all
from grader.running.protocols import GradingSuite, Outcome
from grader.running.slots import hold_slot, locks_folder
from grader.sandbox import Limits

ROOT = Path(__file__).resolve().parents[1]
PRELOAD = ("grader.running.pool",)

# Stands in for the suite. A submission's attention.py says what the harness does with it.
FAKE_SUITE = """
import ctypes, os, signal, subprocess, sys, time
from pathlib import Path
from types import SimpleNamespace
from grader.base.errors import GraderError
from grader.results.record import TestResult
from grader.sandbox import SandboxUnavailable

class Suite:
    real_model = None

    def __init__(self, scratch):
        self.scratch = Path(scratch)

    def hash_now(self, secret):
        return "s1"

    def close(self):
        pass

    @property
    def blank_tests(self):
        return [a_test(0.0, "not_started")]

def a_test(points, state, message=""):
    return TestResult(id="t", part=1, section="1.1", title="softmax", visibility="public",
                      points=points, max_points=2.0, state=state, message=message)

def run(suite, prepared, sandbox, limits, slot):
    todo = (prepared / "assignment" / "attention.py").read_text().split()[1:]
    with (suite.scratch / "calls").open("a") as calls:
        calls.write(f"{os.getpid()} {todo[-1]}\\n")
    slot_file = suite.scratch / f"slot{slot}"
    slot_file.touch(exist_ok=False)   # two running at once in one slot would fail here
    try:
        return act(todo[0], suite, slot)
    finally:
        slot_file.unlink()

def outcome(tests, notes):
    return SimpleNamespace(tests=tests, sandbox="portable", tier="fake", worker_notes=notes,
                           diagnoses=(), generated_text="", expected_text="")

def act(what, suite, slot):
    state = "passed"
    if what == "raise":
        raise ValueError("a bug in the harness")
    if what == "sentence":
        raise GraderError("The golden data is missing.")
    if what == "nosandbox":
        raise SandboxUnavailable("bwrap is not installed.")
    if what == "sysexit":
        sys.exit(0)
    if what in ("exit0", "exit7", "segfault", "sigkill", "hang"):
        (suite.scratch / f"slot{slot}").unlink()
        helper = subprocess.Popen(["sleep", "600"])
        (suite.scratch / f"helper_{what}").write_text(str(helper.pid))
        print("last words", flush=True)
        if what == "segfault":
            ctypes.string_at(0)
        if what == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            time.sleep(600)
        os._exit(int(what[-1]))
    if what == "greedy":
        bytearray(6 << 30)  # nothing of it is touched
    if what == "empty":
        return outcome([], "")
    if what == "slow":
        time.sleep(0.2)
    if what == "exhausted":
        state = "out_of_time"
    return outcome([a_test(1.0, state)], "hi")

"""

# A grader as a process of its own, with the stand-ins in place of suite and sandbox.
DRIVER = """
import functools
import sys
from pathlib import Path

sys.path[:0] = [{root!r}, {fakes!r}]
import fake_suite
from grader import grade_class as grader_run
from grader.cli import main as cli
from grader.running import child, pool

def grading(out, course, secret, sandbox, regrade, real_model, part12):
    suite = fake_suite.Suite({scratch!r})
    return child.Grading(out, fake_suite.run, suite, "s1", "1", course, sandbox, regrade=regrade)

grader_run._grading = grading
grader_run._require_sandbox = lambda name: "fake"
if {preload!r}:
    grader_run.grade_all = functools.partial(pool.grade_all, preload={preload!r})
if __name__ == "__main__":
    cli.main()
"""


@pytest.fixture(scope="module", autouse=True)
def fakes(tmp_path_factory):
    """The folder of the stand-in suite, importable here and in the children."""
    folder = tmp_path_factory.mktemp("fakes")
    (folder / "fake_suite.py").write_text(FAKE_SUITE)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("fake_suite", None)


@pytest.fixture
def course(tmp_path) -> Course:
    package = tmp_path / "trusted" / "assignment"
    package.mkdir(parents=True)
    (package / "attention.py").write_text("# stub\n")
    return Course(package, ("attention",), ())


@pytest.fixture
def grading(tmp_path, course, fakes) -> Grading:
    import fake_suite

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    out = tmp_path / "results"
    out.mkdir()
    suite = fake_suite.Suite(scratch)
    return Grading(out, fake_suite.run, suite, "s1", "1", course, limits=Limits(slot_seconds=60))


def test_the_stand_ins_offer_what_the_pool_asks_for(grading):
    import fake_suite

    assert isinstance(grading.suite, GradingSuite)
    assert isinstance(fake_suite.outcome([], ""), Outcome)


def hand_in(folder: Path, **work: str) -> Path:
    """A class in which each student's attention.py tells the stand-in suite what to do."""
    for student, what in work.items():
        (folder / student).mkdir(parents=True, exist_ok=True)
        (folder / student / "attention.py").write_text(f"# {what} {student}\n")
    return folder


def graded(class_folder: Path, grading: Grading, jobs: int = 2) -> dict:
    found = find_submissions([class_folder], grading.course)
    return {s.student: s for s in grade_all(found, grading, jobs, PRELOAD)}


def calls(grading: Grading) -> list[str]:
    path = grading.suite.scratch / "calls"
    names = [line.split()[1] for line in path.read_text().splitlines()] if path.exists() else []
    path.unlink(missing_ok=True)
    return sorted(names)


def call_pids(grading: Grading) -> list[int]:
    path = grading.suite.scratch / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line.split()[0]) for line in lines]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until(condition, what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def test_the_warm_server_knows_the_digest_of_every_public_property():
    program = """
import grader.running.preload as warm
from hypothesis import core
from hypothesis.internal.reflection import function_digest

known = core.function_digest
found = (getattr(test.obj, "hypothesis", None) for test in warm.tests)
properties = [handle.inner_test for handle in found if handle]
before = known.cache_info().misses
assert properties and all(known(test) == function_digest(test) for test in properties)
assert known.cache_info().misses == before
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_a_failing_harness_costs_one_submission_only(grading, tmp_path):
    work = {
        "ana": "pass",
        "b_raise": "raise",
        "c_sentence": "sentence",
        "d_sandbox": "nosandbox",
        "e_sysexit": "sysexit",
        "f_exit0": "exit0",
        "g_exit7": "exit7",
        "h_segfault": "segfault",
        "i_sigkill": "sigkill",
        "j_empty": "empty",
        "l_greedy": "greedy",
        "k_exhausted": "exhausted",
        "zoe": "pass",
    }
    summaries = graded(hand_in(tmp_path / "class", **work), grading)
    results = {name: read_record(grading.out, name)[0] for name in work}
    states = {name: result.state for name, result in results.items()}
    assert states.pop("ana") == states.pop("zoe") == "graded"
    assert states.pop("k_exhausted") == "partial"
    assert set(states.values()) == {"error"}
    for name, words in {
        "b_raise": "ValueError: a bug in the harness",
        "c_sentence": "The golden data is missing.",
        "d_sandbox": "bwrap is not installed.",
        "e_sysexit": "SystemExit",
        "f_exit0": "ended without a result (exit code 0)",
        "g_exit7": "exit code 7",
        "h_segfault": "killed by SIGSEGV",
        "i_sigkill": "killed by SIGKILL; the machine may be short of memory",
        "j_empty": "ran no test",
        "l_greedy": "MemoryError",
    }.items():
        assert words in results[name].reason, name
        assert summaries[name].problem.startswith(results[name].reason[:50])
    assert "last words" in results["g_exit7"].output_tail
    assert "Segmentation fault" in results["h_segfault"].output_tail
    assert "Traceback" in results["b_raise"].output_tail
    assert results["ana"].total == 1.0 and results["ana"].output_tail == "hi"


def test_an_archive_that_swells_costs_one_submission_only(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="pass", zoe="pass")
    with zipfile.ZipFile(work / "bob.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("attention.py", bytes(64 << 20))
    with tarfile.open(work / "cyd.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("attention.py")
        member.pax_headers = {"comment": "x" * (32 << 20)}
        archive.addfile(member)
    states = {name: summary.state for name, summary in graded(work, grading).items()}
    assert states == {"ana": "graded", "bob": "missing", "cyd": "missing", "zoe": "graded"}
    reasons = [read_record(grading.out, name)[0].reason for name in ("bob", "cyd")]
    assert "larger than 1 MiB" in reasons[0]
    assert "name and attributes take more than 1 MiB" in reasons[1]


def test_a_hang_is_stopped_with_everything_it_started(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="hang", bob="pass", cyd="exit7")
    summaries = graded(work, replace(grading, limits=Limits(slot_seconds=2.0)))
    assert {s.student: s.state for s in summaries.values()} == {
        "ana": "error",
        "bob": "graded",
        "cyd": "error",
    }
    assert "stopped this submission after 2 s" in summaries["ana"].problem
    for helper in grading.suite.scratch.glob("helper_*"):
        pid = int(helper.read_text())
        wait_until(lambda pid=pid: not is_running(pid), f"the end of {helper.name}")


def test_slots_are_unique_among_the_running(grading, tmp_path):
    work = hand_in(tmp_path / "class", **{f"s{i:02}": "slow" for i in range(9)})
    summaries = graded(work, grading, jobs=3)
    assert [s.state for s in summaries.values()] == ["graded"] * 9


def test_nothing_to_grade_is_missing_with_the_reason_and_the_maximum(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="pass", bob="pass")
    (work / "cyd.zip").write_bytes(b"dear grader")
    (work / "dan").mkdir()
    for kept in (False, True):
        summaries = graded(work, grading)
        assert summaries["cyd"].state == summaries["dan"].state == "missing"
        assert summaries["cyd"].kept is kept
        result, _ = read_record(grading.out, "cyd")
        assert "does not start like" in result.reason
        assert (result.total, result.max_total) == (0.0, 2.0)


def test_rerun_grades_only_what_changed_or_failed(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="pass", bob="pass", cyd="raise", dan="exhausted")
    graded(work, grading)
    assert calls(grading) == ["ana", "bob", "cyd", "dan"]

    before = record_path(grading.out, "ana").stat().st_ino
    kept = {name: summary.kept for name, summary in graded(work, grading).items()}
    assert kept == {"ana": True, "bob": True, "cyd": False, "dan": True}
    assert calls(grading) == ["cyd"]
    assert record_path(grading.out, "ana").stat().st_ino == before

    (work / "bob" / "attention.py").write_text("# pass  bob\n")
    hand_in(work, cyd="pass")
    (work / "ana" / "README.md").write_text("not part of the work")
    graded(work, grading)
    assert calls(grading) == ["bob", "cyd"]

    graded(work, replace(grading, suite_hash="s2"))
    assert calls(grading) == ["ana", "bob", "cyd", "dan"]
    graded(work, replace(grading, suite_hash="s2", regrade=True))
    assert calls(grading) == ["ana", "bob", "cyd", "dan"]


def test_damaged_and_unsandboxed_records_are_graded_anew(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="pass", bob="pass", cyd="pass")
    graded(work, grading)
    calls(grading)
    ana, bob = (record_path(grading.out, name) for name in ("ana", "bob"))
    ana.write_bytes(ana.read_bytes()[:-40])
    bob.write_text(json.dumps(json.loads(bob.read_text()) | {"sandbox": "none"}))
    graded(work, replace(grading, sandbox="none"))
    assert calls(grading) == ["ana"]
    graded(work, grading)
    assert calls(grading) == ["bob"]
    bob.write_text(json.dumps(json.loads(bob.read_text()) | {"state": "error"}))
    graded(work, grading)
    assert calls(grading) == ["bob"]
    assert any(note.fields["why"] == "damaged" for note in read_record(grading.out, "ana")[0].notes)


@pytest.fixture
def settled_class(tmp_path, grading, monkeypatch) -> Path:
    """Two graded submissions, which no longer count as new, and no child may start for them."""
    work = hand_in(tmp_path / "class", ana="pass", bob="pass")
    for path in work.rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(unchanged, "_TICK_NS", 0)
    graded(work, grading)
    assert calls(grading) == ["ana", "bob"]
    return work


@pytest.fixture
def started(monkeypatch) -> list[str]:
    """Whose children were started."""
    names = []
    start = pool._start
    monkeypatch.setattr(pool, "_start", lambda *a: names.append(a[1].student) or start(*a))
    return names


def test_what_lies_there_as_it_was_graded_is_not_read_again(settled_class, grading, started):
    first = graded(settled_class, grading)
    assert started == [] and all(one.kept for one in first.values())
    record, _ = read_record(grading.out, "ana")
    assert first["ana"] == index.summarise(record, kept=True)
    graded(settled_class, replace(grading, rehash=True))
    assert started == ["ana", "bob"] and calls(grading) == []


@pytest.mark.parametrize("change", ["content", "new file", "gone", "touched", "record", "damaged"])
def test_any_change_shows(settled_class, grading, started, change):
    work, path = settled_class / "ana" / "attention.py", record_path(grading.out, "ana")
    if change == "content":  # of the same size, and dated back
        work.write_text("# pasS ana\n")
        os.utime(work, (1, 1))
    elif change == "new file":
        (work.parent / "rope.py").write_text("")
    elif change == "gone":
        work.rename(work.with_suffix(".txt"))
    elif change == "touched":
        os.utime(work)
    elif change == "record":
        path.write_bytes(path.read_bytes().replace(b"1.0", b"1.5", 1))
    else:
        path.write_bytes(path.read_bytes()[:100])
    graded(settled_class, grading)
    assert started == ["ana"]
    # A new time alone is read and changes nothing; nobody is graded who hands nothing in.
    assert calls(grading) == ([] if change in ("touched", "gone") else ["ana"])


def test_other_options_and_another_suite_ask_again(settled_class, grading, started):
    for other in (
        replace(grading, suite_hash="s2"),
        replace(grading, accept_names=True),
        replace(grading, regrade=True),
    ):
        started.clear()
        graded(settled_class, other)
        assert started == ["ana", "bob"]


@pytest.mark.parametrize("content", [b"", b"[]", b"1 2 0\n{}", b"\xff"])
def test_the_index_may_be_lost(settled_class, grading, started, content):
    (grading.out / index.FILE).write_bytes(content)
    assert {one.total for one in graded(settled_class, grading).values()} == {1.0}
    assert started == ["ana", "bob"] and calls(grading) == []
    started.clear()
    graded(settled_class, grading)
    assert started == []


def test_what_was_written_a_moment_ago_is_read_again(settled_class, grading, started, monkeypatch):
    """A second write within one tick of the disk's clock would not show."""
    monkeypatch.setattr(unchanged, "_TICK_NS", 10**12)
    (settled_class / "ana" / "attention.py").touch()
    for _ in range(2):
        started.clear()
        graded(settled_class, grading)
        assert "ana" in started


@pytest.mark.slow
def test_memory_stays_flat(grading, tmp_path):
    work = tmp_path / "class"
    work.mkdir()
    for i in range(60):
        (work / f"s{i:02}.zip").write_bytes(b"not a zip")
    found = find_submissions([work], grading.course)
    temporary = []
    for number, summary in enumerate(grade_all(found, grading, 2, PRELOAD)):
        assert summary.state == "missing"
        if number % 10 != 5:
            continue
        gc.collect()
        alive = sum(isinstance(thing, SubmissionResult) for thing in gc.get_objects())
        open_files = len(list(Path("/proc/self/fd").iterdir()))
        temporary.append((alive, len(multiprocessing.active_children()), open_files))
    first, last = temporary[0], temporary[-1]
    assert last[0] == 0
    assert last[1] <= 2
    # A child that is there while we count holds two.
    assert last[2] - first[2] <= 2 * (last[1] - first[1])


def test_stopping_early_stops_the_children_and_removes_the_scratch_folder(grading, tmp_path):
    work = hand_in(tmp_path / "class", ana="pass", bob="hang", cyd="hang")
    running = grade_all(find_submissions([work], grading.course), grading, 3, PRELOAD)
    assert next(running).student == "ana"
    wait_until((grading.suite.scratch / "helper_hang").exists, "a hanging child")
    running.close()
    assert not multiprocessing.active_children()
    assert {path.name for path in grading.out.iterdir()} == {"ana.json", index.FILE}


def test_two_graders_do_not_share_a_results_folder(tmp_path):
    holder = rf"process {os.getpid()} on .+, since 20"
    with (
        results_lock(tmp_path / "results"),
        pytest.raises(GraderError, match=holder),
        results_lock(tmp_path / "results"),
    ):
        pass
    with results_lock(tmp_path / "results"):
        pass


# ------------------------------------------------------------------- a grader as its own process


def start_grader(
    tmp_path, fakes, course, work: Path, cwd: Path, preload=PRELOAD, **options
) -> subprocess.Popen:
    driver = tmp_path / "bin" / "driver.py"
    driver.parent.mkdir(exist_ok=True)
    values = {"root": str(ROOT), "fakes": str(fakes), "scratch": str(tmp_path / "scratch")}
    values["preload"] = preload
    driver.write_text(
        textwrap.dedent(DRIVER)
        .format(**values)
        # The class folder's stubs are the test's, not the installed ones.
        .replace(
            "grader_run._grading =",
            f"grader_run.Course.load = lambda: {course_source(course)}\ngrader_run._grading =",
        )
    )
    command = [sys.executable, str(driver), "run", str(work), "--jobs", "2"]
    command += ["--out", str(tmp_path / "results"), "--secret-file", str(tmp_path / "secret.hex")]
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def course_source(course: Course) -> str:
    return f"grader_run.Course(Path({str(course.package)!r}), {course.student_modules!r}, ())"


def test_children_end_with_a_killed_grader(grading, tmp_path, fakes, course):
    work = hand_in(tmp_path / "class", ana="hang", bob="hang")
    grader = start_grader(tmp_path, fakes, course, work, tmp_path)
    hanging = grading.suite.scratch / "helper_hang"
    wait_until(lambda: hanging.exists() and len(call_pids(grading)) == 2, "two hanging children")
    grader.send_signal(signal.SIGKILL)
    for pid in (*call_pids(grading), int(hanging.read_text())):
        wait_until(lambda pid=pid: not is_running(pid), f"the end of process {pid}", 10.0)
    grader.communicate()


def test_killed_grader_loses_nothing(grading, tmp_path, fakes, course):
    names = [f"s{i:02}" for i in range(14)]
    work = hand_in(tmp_path / "class", **dict.fromkeys(names, "slow"))
    grader = start_grader(tmp_path, fakes, course, work, tmp_path)
    wait_until(lambda: len(list(grading.out.glob("s*.json"))) >= 3, "three results")
    grader.send_signal(signal.SIGKILL)
    grader.communicate()
    for pid in call_pids(grading):
        wait_until(lambda pid=pid: not is_running(pid), f"the end of child {pid}")
    kept = {path.stem: path.read_bytes() for path in grading.out.glob("s*.json")}
    assert 3 <= len(kept) < len(names)
    assert all(read_record(grading.out, name)[0].state == "graded" for name in kept)
    for slot_file in grading.suite.scratch.glob("slot*"):
        slot_file.unlink()
    calls(grading)

    again = start_grader(tmp_path, fakes, course, work, tmp_path)
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output
    assert f"({len(kept)} kept from an earlier run)" in output
    assert calls(grading) == sorted(set(names) - set(kept))
    there = {path.name for path in grading.out.iterdir()}
    ours = {".grader.lock", ".grader.handed_in", ".grader.index"}
    assert there == ours | {f"{name}.json" for name in names}
    assert all((grading.out / f"{name}.json").read_bytes() == kept[name] for name in kept)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_grader_keeps_results_and_says_how_to_go_on(
    which, grading, tmp_path, fakes, course
):
    work = hand_in(tmp_path / "class", ana="pass", bob="hang", cyd="hang")
    grader = start_grader(tmp_path, fakes, course, work, tmp_path, start_new_session=True)
    wait_until((grading.out / "ana.json").exists, "the first result")
    wait_until((grading.suite.scratch / "helper_hang").exists, "a hanging child")
    grader.send_signal(which)
    output, _ = grader.communicate(timeout=30)
    assert grader.returncode == 130, output
    assert "Stopped. 1 of 3 results are kept" in output and "same command again" in output
    assert "Traceback" not in output
    helper = int((grading.suite.scratch / "helper_hang").read_text())
    wait_until(lambda: not is_running(helper), "the end of the hanging child's helper")


def test_modules_in_the_current_folder_are_never_imported(grading, tmp_path, fakes, course):
    work = hand_in(tmp_path / "class", ana="pass", bob="pass")
    marker = tmp_path / "imported"
    for name in ("numpy", "signal", "threading", "pytest", "selectors", "socket", "pickle"):
        spy = f"open({str(marker)!r}, 'a').write({name!r} + ' ')\n"
        (work / f"{name}.py").write_text(spy)
    grader = start_grader(tmp_path, fakes, course, work, cwd=work, preload=None)
    output, _ = grader.communicate(timeout=60)
    assert not marker.exists(), marker.read_text()
    assert "2 graded" in output


# ---- Slots: no two submissions on one machine share one, whoever grades them

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="slots are locked as root only")


@pytest.fixture(autouse=True)
def places(monkeypatch, tmp_path):
    places = (tmp_path / "first", tmp_path / "second")
    for place in places:
        place.mkdir()
    monkeypatch.setattr(slots, "PLACES", places)
    return places


def _hold(preferred: int, pipe) -> None:
    with hold_slot(preferred) as slot:
        pipe.send(slot)
        pipe.recv()


@as_root
def test_two_graders_get_different_slots_and_a_dead_one_frees_its_own():
    context = multiprocessing.get_context("fork")
    other, far = context.Pipe()
    grader = context.Process(target=_hold, args=(0, far), daemon=True)
    grader.start()
    taken = other.recv()
    with hold_slot(0) as mine, hold_slot(0) as another:
        assert len({taken, mine, another}) == 3
        assert 0 not in {taken, mine, another}  # the user of slot 0 tries sandboxes out
        grader.kill()
        grader.join()
        with hold_slot(0) as freed:
            assert freed == taken


@as_root
def test_a_slot_is_free_after_an_error():
    with pytest.raises(ZeroDivisionError), hold_slot(3) as slot:
        raise ZeroDivisionError
    with hold_slot(3) as again:
        assert again == slot == 4


@as_root
def test_all_taken_is_a_sentence(monkeypatch):
    monkeypatch.setattr(slots, "MAX_SLOTS", 2)
    with (
        hold_slot(0),
        hold_slot(0),
        pytest.raises(GraderError, match="All 2 slots of this machine are taken"),
        hold_slot(0),
    ):
        pass


@as_root
def test_a_folder_that_others_can_write_to_is_not_trusted(places, tmp_path):
    first, second = places
    (first / slots.FOLDER).mkdir()
    (first / slots.FOLDER).chmod(0o777)
    assert locks_folder() == second / slots.FOLDER
    assert stat.S_IMODE((second / slots.FOLDER).stat().st_mode) == 0o700
    os.chown(second / slots.FOLDER, 12345, 12345)
    with pytest.raises(GraderError, match="Make one of these writable for root"):
        locks_folder()
    (second / slots.FOLDER).rmdir()
    (second / slots.FOLDER).symlink_to(tmp_path)
    with pytest.raises(GraderError, match="not a folder that only this user can write to"):
        locks_folder()


def test_without_root_the_callers_number_serves(monkeypatch, places):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with hold_slot(5) as slot, hold_slot(5) as again:
        assert slot == again == 5
    assert not any(list(place.iterdir()) for place in places)
