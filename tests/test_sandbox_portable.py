"""The tier without namespaces: what it runs, what it checks, and that it grades the same."""

import os
import signal
import struct
from pathlib import Path

import pytest
from sandbox_support import (
    AS_ROOT,
    NO_LANDLOCK,
    OTHER_SLOT,
    RUNNER,
    SLOT,
    sandbox_of,
    start,
    write_submission,
)

from grader.grading.submission import run_suite
from grader.grading.suite import Suite
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import find_submissions
from grader.sandbox import Limits, SandboxUnavailable, confine, files, portable, runtime
from grader.sandbox.files import WorkerFolder, remove_left_behind
from grader.sandbox.interpreter import interpreter_view
from grader.sandbox.portable import Portable

needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can be another user")


@pytest.fixture
def submission(tmp_path):
    return write_submission(tmp_path / "s", attention=RUNNER)


def test_the_tier_says_what_it_lacks():
    nothing = runtime.Runtime(Path("/p"), "", Path("/n"), (), ())
    assert Portable(nothing, True, True).tier == "portable (root, uid per slot, Landlock)"
    assert Portable(nothing, True, False).tier == "portable (root, uid per slot, no Landlock)"
    assert Portable(nothing, False, True).tier == "portable (this user, Landlock)"


@pytest.fixture
def anew(monkeypatch):
    portable._working.cache_clear()
    yield
    portable._working.cache_clear()


def test_an_ordinary_user_without_landlock_gets_a_reason(monkeypatch, anew):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(confine, "landlock_version", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="needs root or a kernel with Landlock"):
        Portable.working()


def test_without_a_filter_there_is_no_portable_tier(monkeypatch, anew):
    monkeypatch.setattr(portable, "load_filter", lambda layer="": None)
    with pytest.raises(SandboxUnavailable, match="needs a system call filter"):
        Portable.working()


def test_landlocks_rights_are_asked_for_as_far_as_the_kernel_knows_them(monkeypatch):
    """Older kernels refuse unknown rights, so each version must get its own."""
    asked = []

    def fake_call(number, *args):
        asked.append((number, args))
        return os.open("/dev/null", os.O_RDONLY)

    monkeypatch.setattr(confine, "call", fake_call)
    handled = {}
    for version in range(1, 9):
        monkeypatch.setattr(confine, "landlock_version", lambda version=version: version)
        asked.clear()
        os.close(confine.landlock_ruleset([("/etc", "list"), ("/etc/passwd", "read")]))
        (_, (attributes, size, _)), (_, rule), (_, file_rule) = asked
        handled[version] = struct.unpack("QQQ", attributes)
        assert size.value == {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}.get(version, 24)
        assert struct.unpack_from("=Q", rule[2])[0] == confine.READ_DIR
        assert struct.unpack_from("=Q", file_rule[2])[0] == confine.READ_FILE
    assert handled[1] == (0x1FFF, 0, 0)
    assert handled[2] == (0x3FFF, 0, 0)
    assert handled[3] == (0x7FFF, 0, 0)
    assert handled[4] == (0x7FFF, 3, 0)
    assert handled[5] == (0xFFFF, 3, 0)
    assert handled[6] == handled[7] == handled[8] == (0xFFFF, 3, 3)


@needs_root
def test_without_landlock_readable_files_of_the_course_stop_the_grading(submission, tmp_path):
    sandbox = sandbox_of(NO_LANDLOCK)
    tmp_path.chmod(0o700)
    with start(submission, sandbox) as student:
        assert student.run("answer = 1") == 1
    guarded = Portable(sandbox._runtime, True, False, (Path("/etc/passwd"),))
    with pytest.raises(SandboxUnavailable, match=r"can read /etc/passwd, .*: chmod go-rwx"):
        guarded.probe()


@needs_root
def test_without_landlock_readable_submissions_stop_the_grading(tmp_path_factory):
    sandbox = sandbox_of(NO_LANDLOCK)
    place = tmp_path_factory.mktemp("open")
    folder = write_submission(place / "s", attention=RUNNER)
    opened = [p for p in folder.parents if p.stat().st_uid == 0 and p.stat().st_mode & 0o77 == 0]
    try:
        for closed in opened:
            closed.chmod(0o711)
        folder.chmod(0o711)  # its files can be read by name
        student = start(folder, sandbox)
        with pytest.raises(SandboxUnavailable, match="every user of this machine can read"):
            student.run("answer = 1")
    finally:
        for closed in opened:
            closed.chmod(0o700)


@needs_root
def test_slots_cannot_read_or_signal_each_other(submission):
    sandbox = sandbox_of(NO_LANDLOCK)
    with start(submission, sandbox) as one, start(submission, sandbox, slot=OTHER_SLOT) as other:
        folder = one.run("import os; answer = os.getcwd()")
        pid = one.run("import os; answer = os.getpid()")
        assert one.run("import os; answer = os.listdir()")
        for source in (
            f"import os; os.listdir({folder!r})",
            f"import os; os.kill({pid}, 9)",
            f"open('/proc/{pid}/mem', 'rb')",
            f"open('/proc/{pid}/environ', 'rb')",
        ):
            with pytest.raises(PermissionError):
                other.run(source)
        assert one.run("answer = 2") == 2


def test_nothing_is_left_of_a_worker(submission):
    with start(submission, sandbox_of("portable")) as student:
        folder = Path(student.run("import os; answer = os.getcwd()"))
        pid = student.pid
        assert (folder / "submission" / "assignment" / "attention.py").exists()
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()


def test_folders_of_killed_graders_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    mine = WorkerFolder(None)
    child = os.fork()
    if child == 0:
        signal.pause()
    dead = tmp_path / f"{files.FOLDER_PREFIX}{child}-x"
    dead.mkdir()
    remove_left_behind()
    assert dead.exists(), "its grader is alive"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    remove_left_behind()
    assert not dead.exists() and mine.path.exists()
    mine.remove()


@needs_root
def test_a_python_that_others_cannot_read_is_copied_once(tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "_open_to_all", lambda path: False)
    monkeypatch.setattr(runtime, "COPIES", tmp_path / "copies")
    monkeypatch.setattr(runtime, "_copy_file", lambda source, place: Path(place).touch())
    view = interpreter_view()
    made = runtime.runtime_for(view, another_user=True)
    assert made.program.is_relative_to(tmp_path) and made.program.exists()
    assert (made.packages / "numpy" / "__init__.py").exists()
    names = {path.name for path in (tmp_path / "copies").rglob("*")}
    assert not names & {"site-packages", "dist-packages", "idlelib", "test_os.py"}
    monkeypatch.setattr(runtime, "_make_copy", lambda *_: pytest.fail("copied again"))
    assert runtime.runtime_for(view, another_user=True) == made
    made.program.parents[len(made.program.relative_to(tmp_path / "copies").parts) - 2].chmod(0o777)
    with pytest.raises(SandboxUnavailable, match="only root can change"):
        runtime.runtime_for(view, another_user=True)


def test_hidden_folders_are_left_out_of_what_may_be_read(tmp_path):
    for name in ("python3/json", "python3/site-packages/numpy", "other"):
        (tmp_path / name).mkdir(parents=True)
    trees, listed = [], []
    hidden = [tmp_path / "python3" / "site-packages"]
    runtime._grant(tmp_path, hidden, trees, listed)
    assert sorted(trees) == [tmp_path / "other", tmp_path / "python3" / "json"]
    assert listed == [tmp_path, tmp_path / "python3"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    loaded = Suite.load(b"0" * 32, False, tmp_path_factory.mktemp("scratch"))
    yield loaded
    loaded.close()


@pytest.mark.parametrize("name", ["bug-scale-missing", "exit-at-import"])
def test_examples_get_the_same_points_as_in_bubblewrap(name, sample_class, suite, tmp_path):
    sandbox_of("bubblewrap")
    sandbox_of("portable")
    (found,) = find_submissions([sample_class / name], Course.load())
    prepared = prepare(found, tmp_path / "s", Course.load())
    points = {}
    for tier in ("bubblewrap", "portable"):
        outcome = run_suite(suite, prepared.folder, tier, Limits(), SLOT)
        assert outcome.tier.startswith(tier)
        points[tier] = {test.id: (test.state, test.points) for test in outcome.tests}
    assert points["portable"] == points["bubblewrap"]
