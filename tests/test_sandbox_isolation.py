"""What a submission finds when it looks around, and what happens when it tries to get out."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_support import RUNNER, require_bubblewrap, start, write_submission

from grader.sandbox.bubblewrap import FIRST_UID, Bubblewrap, bubblewrap_programs
from grader.sandbox.filters import load_filter
from grader.sandbox.interpreter import interpreter_view

SANDBOX = require_bubblewrap()
AS_ROOT = os.geteuid() == 0


def in_user_namespace():
    return Bubblewrap(bubblewrap_programs()[0], interpreter_view(), False, load_filter())


@pytest.fixture(scope="module", params=["as this user", "in a user namespace"])
def explorer(request, tmp_path_factory):
    """`explorer(source)` runs text inside and returns its `answer`."""
    folder = write_submission(tmp_path_factory.mktemp("submission"), attention=RUNNER)
    sandbox = SANDBOX if request.param == "as this user" else in_user_namespace()
    with start(folder, sandbox, call_seconds=30) as student:
        student.run("answer = 1")
        yield student.run


def refused(explorer, source: str) -> str:
    """The class of the exception that `source` raises inside; fails when it raises none."""
    with pytest.raises(Exception) as caught:
        explorer(source)
    return type(caught.value).__name__


def test_no_environment_no_arguments_no_home(explorer):
    assert explorer("import os; answer = dict(os.environ)") == {}
    assert explorer("import os; answer = os.getcwd()") == "/tmp"
    assert explorer("import os; answer = [os.path.exists(p) for p in ('/home', '/root')]") == [
        False,
        False,
    ]


def test_the_root_folder_holds_only_what_a_worker_needs(explorer):
    assert set(explorer("import os; answer = os.listdir('/')")) <= {
        *("dev", "etc", "lib", "lib32", "lib64", "opt", "submission", "tmp", "usr")
    }
    assert explorer("import os; answer = os.listdir('/tmp') + os.listdir('/dev/shm')") == []
    assert explorer("import os; answer = os.listdir('/submission')") == ["assignment"]
    assert explorer("import os; answer = sorted(os.listdir('/opt/worker'))") == [
        "wire.py",
        "worker.py",
    ]


def test_no_file_inside_names_a_host_path(explorer):
    """Without /proc neither a command line nor the mount table can be read."""
    assert refused(explorer, "open('/proc/1/cmdline').read()") == "FileNotFoundError"
    assert refused(explorer, "open('/proc/self/mountinfo').read()") == "FileNotFoundError"
    paths = explorer("import sys; answer = [*sys.path, sys.prefix, sys.executable, *sys.orig_argv]")
    hidden = [str(Path.home()), str(Path(__file__).parent.parent), sys.prefix]
    assert not [p for p in paths for h in hidden if h != "/usr" and h in p]


def test_the_course_cannot_be_imported_or_found(explorer):
    for name in ("reference_model", "solution", "grader", "pytest", "pip", "safetensors"):
        assert refused(explorer, f"import {name}") == "ModuleNotFoundError"
    installed = explorer(
        "import os\n"
        "ends = ('site-packages', 'dist-packages')\n"
        "answer = [f for p, ds, fs in os.walk('/') if p.endswith(ends) for f in ds + fs]"
    )
    assert installed == []
    repository = Path(__file__).parent.parent
    assert explorer(f"import os; answer = os.path.exists({str(repository)!r})") is False
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
    assert [fd for fd, _ in kinds[:3]] == [0, 1, 2]
    assert [mode for _, mode in kinds[1:]] == [0o010000] * 4


def test_nothing_can_be_written(explorer):
    for path in ("/tmp/x", "/dev/shm/x", "/submission/x", "/x", "/opt/worker/x", "/usr/lib/x"):
        assert refused(explorer, f"open({path!r}, 'w')") in ("OSError", "PermissionError")
    assert refused(explorer, "open('/submission/assignment/attention.py', 'a')") in (
        "OSError",
        "PermissionError",
    )
    assert refused(explorer, "import os; os.mkdir('/tmp/x')") == "PermissionError"
    assert refused(explorer, "import os; os.chmod('/tmp', 0o777)") == "PermissionError"


def test_every_namespace_is_the_sandboxs_own():
    """The filter hides most of what an inherited namespace would show, so ask for the options."""
    options = SANDBOX._namespaces()
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
    # A user namespace made by root leaves the kernel's user at root, which has no such limit.
    if explorer("import os; answer = os.getuid()") == FIRST_UID + 3 or not AS_ROOT:
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


@pytest.mark.skipif(not AS_ROOT, reason="only root gives each slot its own user")
def test_as_root_each_slot_has_its_own_user(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, SANDBOX) as student:
        student.run("answer = 1")
        _, worker = descendants(student._worker.process.pid)
        assert Path(f"/proc/{worker}").stat().st_uid == FIRST_UID + 3
        assert student.run("import os; answer = os.getuid()") == FIRST_UID + 3


def test_limits_are_in_force_and_cannot_be_raised(explorer):
    source = """
import resource
names = ("AS", "CPU", "NPROC", "FSIZE", "NOFILE", "CORE")
answer = {n: resource.getrlimit(getattr(resource, "RLIMIT_" + n)) for n in names}
"""
    found = explorer(source)
    assert found["AS"] == (2048 << 20,) * 2
    assert found["CPU"] == (120, 120)
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


def test_the_parent_cannot_be_reached_by_a_signal(explorer):
    assert explorer("import os; answer = [os.getpid(), os.getppid()]") == [2, 1]
    assert refused(explorer, f"import os; os.kill({os.getpid()}, 0)") == "ProcessLookupError"
    with contextlib.suppress(PermissionError):
        # Where the first process is this user's, the kernel ignores a signal to it from inside.
        explorer("import os; os.kill(1, 9)")
    assert explorer("answer = 1") == 1


def test_stdin_is_empty(explorer):
    assert explorer("import os; answer = os.read(0, 10) == b''") is True


def test_the_worker_dies_with_the_grader(tmp_path):
    """Killed without a chance to clean up, the grader leaves no worker behind."""
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    program = """
import os, signal, sys, threading, time
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from sandbox_support import start
from grader.sandbox import choose_sandbox
student = start(Path({folder!r}), choose_sandbox("bubblewrap"))
student.run("answer = 1")
pid = student._worker.process.pid
from test_sandbox_isolation import descendants
endless = "print('spinning', flush=True)" + chr(10) + "while True: pass"
threading.Thread(target=student.run, args=(endless,), daemon=True).start()
while "spinning" not in student._output.tail(100):
    time.sleep(0.01)
print(pid, *descendants(pid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    text = program.format(
        root=str(Path(__file__).parent.parent), tests=str(Path(__file__).parent), folder=str(folder)
    )
    # Orphans come to this process, so that it can wait for their end instead of guessing.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    try:
        ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        outside, first, worker = map(int, ran.stdout.split())
        for pid in (outside, first):
            assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
        assert not Path(f"/proc/{worker}").exists()
    finally:
        ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
