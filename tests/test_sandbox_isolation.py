"""What a submission finds when it looks around, and what happens when it tries to get out."""

import contextlib
import ctypes
import io
import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from sandbox_support import (
    AS_ROOT,
    NO_LANDLOCK,
    OWN_FILES,
    RUNNER,
    SLOT,
    TIERS,
    USER_NAMESPACE,
    sandbox_of,
    start,
    write_submission,
)

from grader.sandbox import Limits, SandboxUnavailable, container
from grader.sandbox.bubblewrap import FIRST_UID
from grader.sandbox.confine import landlock_version
from grader.sandbox.container import Docker, Podman, root_entries
from grader.sandbox.files import CONFINE
from grader.sandbox.interpreter import interpreter_view
from grader.sandbox.remote import RemoteStudent

REPOSITORY = Path(__file__).parent.parent
BUBBLEWRAP = ("bubblewrap", USER_NAMESPACE)
PORTABLE = ("portable", NO_LANDLOCK)
REFUSALS = ("OSError", "PermissionError", "FileNotFoundError", "IsADirectoryError")


class Explorer:
    """Runs text in a sandbox: `explorer(source)` returns its `answer`."""

    def __init__(self, tier: str, student):
        self.tier = tier
        self.student = student

    def __call__(self, source: str):
        return self.student.run(source)

    @property
    def by_landlock(self) -> bool:
        """Whether Landlock is what hides files: such a worker cannot list a folder above them."""
        return self.tier not in (*BUBBLEWRAP, NO_LANDLOCK) and landlock_version() > 0


@pytest.fixture(scope="module", params=TIERS)
def explorer(request, tmp_path_factory):
    folder = write_submission(tmp_path_factory.mktemp("submission"), attention=RUNNER)
    with start(folder, sandbox_of(request.param), call_seconds=30) as student:
        student.run("answer = 1")
        yield Explorer(request.param, student)


def refused(explorer, source: str) -> str:
    """The class of the exception that `source` raises inside; fails when it raises none."""
    with pytest.raises(Exception) as caught:
        explorer(source)
    return type(caught.value).__name__


def test_no_environment_no_arguments_no_home(explorer):
    assert explorer("import os; answer = dict(os.environ)") == {}
    if explorer.tier in OWN_FILES:
        assert explorer("import os; answer = os.getcwd()") == "/tmp"
        asked = "import os; answer = [os.path.exists(p) for p in ('/home', '/root')]"
        assert explorer(asked) == [False, False]
    elif explorer.by_landlock:
        assert refused(explorer, "import os; os.listdir('/home')") == "PermissionError"
    assert refused(explorer, "open('/root/.bashrc')") in REFUSALS


def test_the_root_folder_holds_only_what_a_worker_needs(explorer):
    if explorer.by_landlock:
        for folder in ("/", "/etc", "/dev", "/proc", "/sys", "/var/tmp"):
            assert refused(explorer, f"import os; os.listdir({folder!r})") in REFUSALS
    if explorer.tier not in BUBBLEWRAP:
        pytest.skip("only bubblewrap shows a root folder of its own")
    assert set(explorer("import os; answer = os.listdir('/')")) <= {
        *("dev", "etc", "lib", "lib32", "lib64", "opt", "submission", "tmp", "usr")
    }
    assert explorer("import os; answer = os.listdir('/tmp') + os.listdir('/dev/shm')") == []
    assert explorer("import os; answer = sorted(os.listdir('/opt/worker'))") == [
        "wire.py",
        "worker",
    ]


def test_the_submission_is_alone(explorer):
    """Its own copy is all there is, and no other worker's can be read."""
    assert explorer("import os, sys; answer = os.listdir(sys.path[-1])") == ["assignment"]
    if explorer.tier in PORTABLE:
        asked = "import os, sys; answer = os.stat(sys.path[-1] + '/..').st_mode & 0o7777"
        assert explorer(asked) == (0o750 if AS_ROOT else 0o700)


def test_no_file_inside_names_a_host_path(explorer):
    """Without /proc neither a command line nor the mount table can be read."""
    assert refused(explorer, "open('/proc/1/environ').read()") in REFUSALS
    if explorer.tier in BUBBLEWRAP or explorer.by_landlock:
        assert refused(explorer, "open('/proc/1/cmdline').read()") in REFUSALS
        assert refused(explorer, "open('/proc/self/mountinfo').read()") in REFUSALS
    if explorer.tier not in OWN_FILES:
        return
    paths = explorer("import sys; answer = [*sys.path, sys.prefix, sys.executable, *sys.orig_argv]")
    hidden = [str(Path.home()), str(REPOSITORY), sys.prefix]
    assert not [p for p in paths for h in hidden if h != "/usr" and h in p]


def test_the_course_cannot_be_imported_or_found(explorer):
    for name in ("reference_model", "solution", "grader", "pytest", "pip", "safetensors"):
        assert refused(explorer, f"import {name}") == "ModuleNotFoundError"
    if explorer.tier in OWN_FILES:
        installed = explorer(
            "import os\n"
            "ends = ('site-packages', 'dist-packages')\n"
            "answer = [f for place in ('/usr', '/opt')\n"
            "  for p, ds, fs in os.walk(place) if p.endswith(ends) for f in ds + fs]"
        )
        assert installed == []
    if explorer.tier == NO_LANDLOCK:
        return  # there the modes of the course's files are checked, see test_sandbox_portable.py
    course = REPOSITORY / "solution" / "attention.py"
    assert refused(explorer, f"open({str(course)!r})") in REFUSALS
    if explorer.tier in OWN_FILES:
        assert explorer(f"import os; answer = os.path.exists({str(REPOSITORY)!r})") is False
    found = explorer(
        "import os\n"
        "names = {'reference_model', 'solution', 'golden.py', 'skeleton.py', 'intake.py'}\n"
        "answer = [os.path.join(p, n) for p, ds, fs in os.walk('/') for n in names & {*ds, *fs}]"
    )
    assert found == []


def test_no_other_file_descriptor_is_open(explorer):
    source = """
import os
answer = []
for fd in range(64):
    try:
        answer.append((fd, os.fstat(fd).st_mode & 0o170000))
    except OSError:
        pass
"""
    kinds = explorer(source)
    # /dev/null, stdout and stderr (one pipe), and the two pipes of the protocol.
    assert [fd for fd, _ in kinds] == [0, 1, 2, *sorted(fd for fd, _ in kinds[3:])]
    assert [mode for _, mode in kinds[1:]] == [0o010000] * 4


def test_nothing_can_be_written(explorer):
    """Not even by those who may see the folder: the host's /tmp is open to every user."""
    folders = ["/tmp", "/dev/shm", "/var/tmp", "/dev/mqueue", "/submission", "/", "/opt/worker"]
    folders += explorer("import os, sys; answer = [sys.path[-1], sys.path[1], os.getcwd()]")
    for folder in folders:
        assert refused(explorer, f"open({folder + '/grader-test'!r}, 'w')") in REFUSALS
        assert refused(explorer, f"import os; os.mkdir({folder + '/grader-test'!r})") in REFUSALS
    module = "sys.path[-1] + '/assignment/attention.py'"
    assert refused(explorer, f"import sys; open({module}, 'a')") in REFUSALS
    assert refused(explorer, f"import os, sys; os.truncate({module}, 0)") in REFUSALS
    assert refused(explorer, "import os; os.chmod('/tmp', 0o777)") == "PermissionError"
    assert refused(explorer, "import os; os.chmod(os.getcwd(), 0o777)") == "PermissionError"


def test_output_can_be_thrown_away(explorer):
    """Honest programs do that. Without Landlock nothing at all can be opened for writing."""
    source = "open('/dev/null', 'w').write('x'); answer = 1"
    if explorer.tier == NO_LANDLOCK:
        assert refused(explorer, source) == "PermissionError"
    else:
        assert explorer(source) == 1


def test_every_namespace_is_the_sandboxs_own():
    """The filter hides most of what an inherited namespace would show, so ask for the options."""
    options = sandbox_of("bubblewrap")._namespaces()
    for name in ("pid", "net", "ipc", "uts", "cgroup-try"):
        assert f"--unshare-{name}" in options
    assert options[options.index("--cap-drop") + 1] == "ALL"
    kept = {options[i + 1] for i, option in enumerate(options) if option == "--cap-add"}
    assert kept == ({"CAP_SETUID", "CAP_SETGID"} if AS_ROOT else set())


def test_no_network(explorer):
    for family in ("AF_INET", "AF_UNIX", "AF_NETLINK"):
        source = f"import socket; socket.socket(socket.{family})"
        assert refused(explorer, source) == "PermissionError"
    assert refused(explorer, "import socket; socket.socketpair()") == "PermissionError"


def test_no_process_can_be_started(explorer):
    assert refused(explorer, "import os; os.fork()") in ("PermissionError", "OSError")
    assert refused(explorer, "import os; os.posix_spawn('/usr/bin/true', ['true'], {})") in (
        "PermissionError",
        "FileNotFoundError",
        "OSError",
    )
    # clone(SIGCHLD), which the C library's fork uses, asked for directly.
    source = """
import ctypes, platform
number = {"x86_64": 56, "aarch64": 220}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
answer = (libc.syscall(number, 17, 0, 0, 0, 0), ctypes.get_errno())
"""
    assert explorer(source)[0] == -1


def test_threads_are_bounded(explorer):
    source = """
import threading
stop = threading.Event()
started = []
try:
    for _ in range(200):
        threading.Thread(target=stop.wait, daemon=True).start()
        started.append(1)
except RuntimeError:
    pass
stop.set()
answer = len(started)
"""
    # A user namespace made by root leaves the kernel's user at root, which has no such limit, and
    # an ordinary user's other programs would be counted in the portable tier.
    if explorer("import os; answer = os.getuid()") == FIRST_UID + SLOT:
        assert 0 < explorer(source) < 10


def test_the_user_is_unprivileged_for_good(explorer):
    ids = explorer("import os; answer = [*os.getresuid(), *os.getresgid(), *os.getgroups()]")
    assert 0 not in ids
    for call in ("setuid(0)", "setgid(0)", "setgroups([0])"):
        assert refused(explorer, f"import os; os.{call}") in ("PermissionError", "OSError")


def descendants(pid: int) -> list[int]:
    """Children of a process, their children, and so on."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [p for child in children for p in (int(child), *descendants(int(child)))]


def test_as_root_each_slot_has_its_own_user(explorer):
    if not AS_ROOT or explorer.tier == USER_NAMESPACE:
        pytest.skip("only root gives each slot its own user")
    assert explorer("import os; answer = os.getuid()") == FIRST_UID + SLOT
    outside = explorer.student.pid
    if explorer.tier in ("bubblewrap", *PORTABLE):
        *_, worker = (outside, *descendants(outside))
        assert Path(f"/proc/{worker}/cmdline").read_text()
        status = Path(f"/proc/{worker}/status").read_text()
        assert f"Uid:\t{FIRST_UID + SLOT}\t{FIRST_UID + SLOT}" in status
        assert "CapEff:\t0000000000000000" in status
        assert "CapPrm:\t0000000000000000" in status


def test_limits_are_in_force_and_cannot_be_raised(explorer):
    source = """
import resource
names = ("AS", "CPU", "NPROC", "FSIZE", "NOFILE", "CORE")
answer = {n: resource.getrlimit(getattr(resource, "RLIMIT_" + n)) for n in names}
"""
    found = explorer(source)
    assert found["AS"] == (2048 << 20,) * 2
    assert found["CPU"] == (120, 120)
    if AS_ROOT or explorer.tier in OWN_FILES:
        assert found["NPROC"] == (8, 8)
    assert found["FSIZE"] == (16 << 20,) * 2
    assert found["NOFILE"] == (64, 64)
    assert found["CORE"] == (0, 0)
    raised = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))"
    assert refused(explorer, raised) in ("ValueError", "PermissionError")


# Number on x86_64, number on aarch64, arguments, name.
SYSTEM_CALLS = [
    (101, 117, (16, 1), "ptrace"),
    (165, 40, (0, 0, 0, 0, 0), "mount"),
    (166, 39, (0, 0), "umount2"),
    (155, 41, (0, 0), "pivot_root"),
    (161, 51, (0,), "chroot"),
    (272, 97, (0x10000000,), "unshare(NEWUSER)"),
    (308, 268, (0, 0), "setns"),
    (321, 280, (0, 0, 0), "bpf"),
    (323, 282, (0,), "userfaultfd"),
    (425, 425, (1, 0), "io_uring_setup"),
    (310, 270, (1, 0, 0, 0, 0, 0), "process_vm_readv"),
    (311, 271, (1, 0, 0, 0, 0, 0), "process_vm_writev"),
    (298, 241, (0, 0, 0, 0, 0), "perf_event_open"),
    (250, 219, (0, 0, 0), "keyctl"),
    (248, 217, (0, 0, 0, 0, 0), "add_key"),
    (304, 265, (0, 0, 0), "open_by_handle_at"),
    (303, 264, (0, 0, 0, 0, 0), "name_to_handle_at"),
    (319, 279, (0, 0), "memfd_create"),
    (438, 438, (0, 0, 0), "pidfd_getfd"),
    (435, 435, (0, 0), "clone3"),
    (56, 220, (0x10000000 | 17, 0, 0, 0, 0), "clone(NEWUSER)"),
    (56, 220, (0x10000000 | 0x10F00, 0, 0, 0, 0), "clone(NEWUSER|THREAD)"),
    (135, 92, (0x0040000,), "personality"),
    (457, 457, (0, 0, 0, 0), "statmount"),
    (458, 458, (0, 0, 0, 0), "listmount"),
    (157, 167, (1, 0, 0, 0, 0), "prctl(PR_SET_PDEATHSIG, 0)"),
    (16, 29, (0, 0x5412, 0), "ioctl(TIOCSTI)"),
    (9999, 9999, (), "a call that does not exist yet"),
]


def test_dangerous_system_calls_are_refused(explorer):
    eperm, enosys = 1, 38
    source = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
column = ["x86_64", "aarch64"].index(platform.machine())
answer = []
for *numbers, args, name in calls:
    ctypes.set_errno(0)
    result = libc.syscall(numbers[column], *map(ctypes.c_long, args))
    answer.append((name, result, ctypes.get_errno()))
"""
    results = explorer(f"calls = {SYSTEM_CALLS!r}\n{source}")
    assert [r for r in results if r[1] != -1 or r[2] not in (eperm, enosys)] == []


def test_no_other_process_can_be_reached_by_a_signal(explorer):
    if explorer.tier in BUBBLEWRAP:
        assert explorer("import os; answer = [os.getpid(), os.getppid()]") == [2, 1]
    gone = ("ProcessLookupError", "PermissionError")
    assert refused(explorer, f"import os; os.kill({os.getpid()}, 0)") in gone
    with contextlib.suppress(PermissionError, ProcessLookupError):
        # Where the first process is this user's, the kernel ignores a signal to it from inside.
        explorer("import os; os.kill(1, 9)")
    with contextlib.suppress(PermissionError, ProcessLookupError):
        explorer("import os; os.kill(-1, 9)")
    assert explorer("answer = 1") == 1


def test_in_the_portable_tier_no_other_process_can_be_touched(explorer):
    if explorer.tier not in PORTABLE:
        pytest.skip("elsewhere there is no other process")
    pid = os.getpid()
    refused_calls = {
        "a signal from a descriptor": f"import fcntl; fcntl.fcntl(3, fcntl.F_SETOWN, {pid})",
        "another's limits": f"import resource; resource.prlimit({pid}, resource.RLIMIT_CPU)",
        "another's processors": f"import os; os.sched_setaffinity({pid}, [0])",
        "another program": "import os; os.execv('/bin/true', ['true'])",
        "another user": "import os; os.setuid(os.getuid())",
        "a lock": "import fcntl; fcntl.lockf(3, fcntl.LOCK_EX)",
    }
    for source in refused_calls.values():
        assert refused(explorer, source) == "PermissionError"
    assert explorer("import fcntl; answer = fcntl.fcntl(1, fcntl.F_GETFD)") >= 0


def test_prints_do_not_reach_the_protocol(explorer):
    explorer("import os; os.write(1, b'to one. '); os.write(2, b'to two. '); print('printed')")
    assert explorer("answer = 1") == 1
    assert "to one. to two. printed" in explorer.student.output_tail()


def test_stdin_is_empty(explorer):
    assert explorer("import os; answer = os.read(0, 10) == b''") is True


@pytest.mark.parametrize("tier", TIERS)
def test_a_mapped_file_is_read_in_place(tier, tmp_path):
    """Large files do not cross the pipe, and their paths stay unknown."""
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(save({"x": np.arange(5.0)}))
    program = "import os\ndef total(params): return params['x'].sum(), params['x'].flags.writeable"
    folder = write_submission(tmp_path / "s", attention=program)
    modules = {"total": "attention"}
    mapped = {"model": weights}
    with RemoteStudent(sandbox_of(tier), folder, Limits(), 3, mapped, modules) as student:
        assert student.total(student.mapped_params("model")) == (10.0, False)


def wait_for_end(pid: int, seconds: float = 60) -> int:
    """The status of a child; far below the processor time after which the kernel ends a worker."""
    pidfd = os.pidfd_open(pid)
    try:
        assert select.select([pidfd], [], [], seconds)[0], f"process {pid} still runs"
    finally:
        os.close(pidfd)
    return os.waitpid(pid, 0)[1]


@pytest.mark.parametrize("tier", ["bubblewrap", "podman", "docker", "portable"])
def test_the_worker_dies_with_the_grader(tier, tmp_path):
    """Killed without a chance to clean up, the grader leaves no worker behind."""
    sandbox_of(tier)
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    program = """
import os, signal, sys, threading, time
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from sandbox_support import choose_sandbox, start
student = start(Path({folder!r}), choose_sandbox({tier!r}))
student.run("answer = 1")
pid = student.pid
from test_sandbox_isolation import descendants
endless = "print('spinning', flush=True)" + chr(10) + "while True: pass"
threading.Thread(target=student.run, args=(endless,), daemon=True).start()
while "spinning" not in student._output.tail(100):
    time.sleep(0.01)
print(pid, *descendants(pid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    text = program.format(
        root=str(REPOSITORY), tests=str(Path(__file__).parent), folder=str(folder), tier=tier
    )
    # Orphans come to this process, so that it can wait for their end instead of guessing.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    try:
        ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        started = list(map(int, ran.stdout.split()))
        assert started, ran.stderr
        # Of bubblewrap's three the last is the child of another; the others come to this process.
        for pid in started[: 2 if tier == "bubblewrap" else 1]:
            ended = wait_for_end(pid)
            assert tier in ("podman", "docker") or os.WTERMSIG(ended) == signal.SIGKILL
        assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    finally:
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


# ---- Podman and Docker: what they are asked for, and what is said when they cannot do it

# Plays the part of an engine: `info` is answered as told, everything else is written down.
ENGINE = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *info*) {info} ;;
  *run*) echo 'Error: crun: something is not supported' >&2; exit 126 ;;
esac
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """`engine(info)` puts a podman on the path; returns what it was asked later."""
    log = tmp_path / "asked"

    def install(info: str):
        program = tmp_path / "podman"
        program.write_text(ENGINE.format(log=log, info=info))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return lambda: log.read_text().splitlines()

    container._working.cache_clear()
    yield install
    container._working.cache_clear()


def test_an_absent_engine_is_said(monkeypatch):
    container._working.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for kind in (Podman, Docker):
        with pytest.raises(SandboxUnavailable, match=f"^{kind.engine.name} is not installed$"):
            kind.working()
    container._working.cache_clear()


def test_an_engine_that_does_not_answer_is_said(engine):
    engine("echo 'Cannot connect to the daemon' >&2; exit 1")
    with pytest.raises(SandboxUnavailable, match="and does not work: Cannot connect to the daemon"):
        Podman.working()


def test_a_container_that_does_not_start_is_said_and_removed(engine):
    asked = engine("exit 0")
    with pytest.raises(SandboxUnavailable, match="cannot start a container: Error: crun: someth"):
        Podman.working()
    runs = [line for line in asked() if " run " in line]
    assert len(runs) == 2 and "--pids-limit" in runs[0] and "--pids-limit" not in runs[1]
    names = [line.split(" --name ")[1].split()[0] for line in runs]
    assert [line for line in asked() if line.startswith("rm ")] == [
        f"rm --force {name}" for name in names
    ]


@pytest.mark.parametrize("kind", [Podman, Docker])
def test_every_restriction_is_asked_for(kind):
    sandbox = kind("engine", interpreter_view(), Path("/profile.json"))
    options = " ".join(sandbox._options(Limits(memory_mib=1000, processes=5), 7)) + " "
    for wanted in (
        "--rm --interactive --read-only ",
        "--user 64107:64107 ",
        "--network none ",
        "--ipc none ",
        "--log-driver none ",
        "--cap-drop ALL ",
        "--security-opt no-new-privileges ",
        "--security-opt seccomp=/profile.json ",
        "--pids-limit 5 ",
        "--memory 1064m ",
        "--ulimit core=0:0 ",
    ):
        assert wanted in options
    assert "privileged " not in options.replace("no-new-privileges ", "")
    assert not any(name in options for name in ("--env-host", "--volume", "--pid ", "--cap-add"))


def test_everything_bound_is_read_only(tmp_path):
    sandbox = Podman("podman", interpreter_view(), Path("/profile.json"))
    folder, other = container.WorkerFolder(None), container.WorkerFolder(None)
    try:
        binds = sandbox._binds(folder, {"/opt/mapped/0": tmp_path / "weights"})[1::2]
        assert all(bind.endswith(",readonly") for bind in binds)
        assert any(f"source={tmp_path}/weights,target=/opt/mapped/0," in bind for bind in binds)
        with pytest.raises(SandboxUnavailable, match=r"cannot be given .*a,b"):
            sandbox._binds(other, {"/opt/mapped/0": tmp_path / "a,b"})
    finally:
        folder.remove()
        other.remove()


def test_a_file_that_only_its_owner_reads_cannot_be_mapped(tmp_path):
    sandbox = Podman("podman", interpreter_view(), Path("/profile.json"))
    closed = tmp_path / "weights"
    closed.touch(mode=0o600)
    with pytest.raises(SandboxUnavailable, match=r"cannot read .*weights; run: chmod o\+r"):
        sandbox.launch(tmp_path, Limits(), 0, {}, {"model": closed})


def test_a_containers_process_is_watched_only_where_it_is_one_of_this_machine(tmp_path):
    """An engine in a machine of its own tells numbers that are others' here."""
    program = tmp_path / "podman"
    kind = Podman(str(program), interpreter_view(), tmp_path / "profile.json")
    waiting = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", waiting, CONFINE], stdin=subprocess.PIPE) as ours:
        for told, found in ((ours.pid, ours.pid), (os.getpid(), None), ("", None), (0, None)):
            program.write_text(f"#!/bin/sh\necho {told}\n")
            program.chmod(0o755)
            assert kind._first_pid("some-name") == found


def test_dockers_image_holds_folders_and_links_only(monkeypatch):
    view, given = interpreter_view(), []

    def ask(command, content=b""):
        given.append((command[1:], content))
        return subprocess.CompletedProcess(command, 1 if "inspect" in command else 0, b"", b"")

    monkeypatch.setattr(container, "_ask", ask)
    container.import_image.cache_clear()
    name = container.import_image("docker", root_entries(view))
    container.import_image.cache_clear()
    assert [command for command, _ in given] == [["image", "inspect", name], ["import", "-", name]]
    with tarfile.open(fileobj=io.BytesIO(given[1][1])) as tar:
        entries = tar.getmembers()
    assert {entry.name for entry in entries if entry.isdir()} >= {"dev", "tmp"}
    assert all(entry.isdir() or entry.issym() for entry in entries)


@pytest.mark.parametrize("tier", ["podman", "docker"])
def test_no_container_is_left(tier, tmp_path):
    sandbox = sandbox_of(tier)
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, sandbox) as student:
        student.run("answer = 1")
        (name,) = containers(sandbox)
    assert name not in containers(sandbox)


def containers(sandbox) -> list[str]:
    command = [sandbox._program, "ps", "--all", "--format", "{{.Names}}"]
    command += ["--filter", f"name=grader-{os.getpid()}-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
