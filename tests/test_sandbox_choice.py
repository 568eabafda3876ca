"""Which sandbox is chosen, what it refuses to show, and what it says when it cannot work."""

import errno
import hashlib
import json
import os
import platform
import select
import stat
import struct
import subprocess
import sys
import tomllib
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sandbox_support import RUNNER, require_bubblewrap, start, write_submission

from grader import grade_class as grader_run
from grader import sandbox
from grader.base.errors import GraderError
from grader.cli import doctor
from grader.sandbox import (
    TIERS,
    Limits,
    SandboxUnavailable,
    bubblewrap,
    choose_sandbox,
    container,
    filters,
    program,
    seccomp,
)
from grader.sandbox.base import worker_config
from grader.sandbox.bubblewrap import Bubblewrap, submission_files
from grader.sandbox.confine import landlock_version
from grader.sandbox.filters import load_filter
from grader.sandbox.interpreter import (
    UnsafeInterpreter,
    check_nothing_protected,
    interpreter_view,
    protected_paths,
)
from grader.sandbox.limits import RANGES, affordable_jobs, available_memory_mib, load_limits
from grader.sandbox.process import Pipes, WorkerProcess, close_all
from grader.sandbox.program import bubblewrap_program

ROOT = Path(__file__).parent.parent


@pytest.fixture
def broken(monkeypatch):
    """`broken(*names)`: these tiers do not work on this machine."""

    def refuse(*names: str) -> None:
        for name in names:
            monkeypatch.setitem(sandbox.TIERS, name, Refusing(name))

    return refuse


class Refusing:
    def __init__(self, name: str):
        self._name = name

    def working(self):
        raise SandboxUnavailable(f"{self._name} has a bad day")


class Working:
    kind = tier = "works"

    @classmethod
    def working(cls):
        return cls()


def test_an_unknown_name_is_refused():
    with pytest.raises(SandboxUnavailable, match='called "jail"; choose one of "auto", "bubblew'):
        choose_sandbox("jail")


def test_auto_takes_the_first_that_works_and_tries_no_other(broken, monkeypatch):
    broken("bubblewrap", "podman")
    monkeypatch.setitem(sandbox.TIERS, "docker", Working)
    monkeypatch.setitem(sandbox.TIERS, "portable", None)
    assert choose_sandbox("auto").tier == "works"


def test_auto_never_gives_no_sandbox(broken):
    broken(*sandbox.TIERS)
    with pytest.raises(SandboxUnavailable) as caught:
        choose_sandbox("auto")
    told = str(caught.value)
    assert [told.index(f"{name} has a bad day") for name in sandbox.TIERS] == sorted(
        told.index(f"{name} has a bad day") for name in sandbox.TIERS
    )
    assert "ask for it by name: none" in told


def test_a_tier_by_name_is_that_tier_or_nothing(broken):
    broken("docker")
    with pytest.raises(SandboxUnavailable, match="docker has a bad day"):
        choose_sandbox("docker")


@pytest.fixture
def probing_anew():
    for probe in (bubblewrap._working, container._working):
        probe.cache_clear()
    yield
    for probe in (bubblewrap._working, container._working):
        probe.cache_clear()


def test_a_tier_is_tried_out_once_even_if_it_does_not_work(monkeypatch, probing_anew):
    """A thousand submissions would else wait for a thousand refusals before the tier that works."""
    asked = []

    def absent():
        asked.append(1)
        raise SandboxUnavailable("bubblewrap is not installed")

    monkeypatch.setattr(bubblewrap, "bubblewrap_program", absent)
    for _ in range(3):
        with pytest.raises(SandboxUnavailable, match="bubblewrap is not installed"):
            choose_sandbox("bubblewrap")
    assert asked == [1]


def test_an_absent_bubblewrap_is_said(monkeypatch, probing_anew):
    def not_there(name):
        raise program.PackageNotFoundError(name)

    monkeypatch.setattr(program.shutil, "which", lambda name: None)
    monkeypatch.setattr(program, "distribution", not_there)
    with pytest.raises(SandboxUnavailable, match="bubblewrap is not installed; install"):
        choose_sandbox("bubblewrap")


def a_package(monkeypatch, root: Path, version: str) -> None:
    package = SimpleNamespace(version=version, locate_file=lambda name: root / name)
    monkeypatch.setattr(program, "distribution", lambda name: package)


def test_the_packages_bubblewrap_runs_only_where_the_system_has_none(monkeypatch, tmp_path):
    """And then only the version and the bytes that were checked."""
    (tmp_path / program.PROGRAM).parent.mkdir(parents=True)
    (tmp_path / program.PROGRAM).write_bytes(b"\x7fELF")
    (tmp_path / program.PROGRAM).chmod(0o755)
    digests = {program.PROGRAM: hashlib.sha256(b"\x7fELF").hexdigest()}
    monkeypatch.setattr(program, "DIGESTS", ({"another/machine": ""}, digests))
    a_package(monkeypatch, tmp_path, program.VERSION)
    monkeypatch.setattr(program.shutil, "which", lambda name: "/usr/bin/bwrap")
    assert program.bubblewrap_program() == program.Program("/usr/bin/bwrap", "the system's")
    monkeypatch.setattr(program.shutil, "which", lambda name: None)
    found = program.bubblewrap_program()
    assert found.path == str(tmp_path / program.PROGRAM) and program.VERSION in found.origin
    a_package(monkeypatch, tmp_path, "0.11.1")
    with pytest.raises(SandboxUnavailable, match=r"0\.11\.1 is not the one that was checked"):
        program.bubblewrap_program()
    a_package(monkeypatch, tmp_path, program.VERSION)
    (tmp_path / program.PROGRAM).write_bytes(b"\x7fELG")
    with pytest.raises(SandboxUnavailable, match="by its sha256"):
        program.bubblewrap_program()


def test_the_installed_package_is_the_one_that_is_pinned(monkeypatch):
    told = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needs = told["optional-dependencies"]["grader"]
    assert any(one.startswith(f"{program.PACKAGE}=={program.VERSION};") for one in needs)
    monkeypatch.setattr(program.shutil, "which", lambda name: None)
    try:
        installed = program.distribution(program.PACKAGE)
    except program.PackageNotFoundError:
        pytest.skip(f"{program.PACKAGE} is not installed")
    assert installed.version == program.VERSION
    assert program.bubblewrap_program().path.endswith(program.PROGRAM)


def test_a_bubblewrap_that_fails_is_reported_with_its_words(monkeypatch, tmp_path, probing_anew):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    found = program.Program(str(broken), "a test's")
    monkeypatch.setattr(bubblewrap, "bubblewrap_program", lambda: found)
    with pytest.raises(SandboxUnavailable, match="No permissions to create a new namespace"):
        choose_sandbox("bubblewrap")


def test_the_tier_says_when_there_is_no_filter():
    view = interpreter_view()
    assert "no syscall filter" in Bubblewrap("bwrap", view, True, None).tier
    assert Bubblewrap("bwrap", view, True, b"x").tier == "bubblewrap (root, uid per slot)"
    assert Bubblewrap("bwrap", view, False, b"x").tier == "bubblewrap (user namespace)"


def test_a_bound_folder_may_not_hold_the_course(tmp_path):
    course = tmp_path / "lib" / "site-packages" / "grader"
    binds = [(tmp_path / "lib", Path("/opt/lib"))]
    with pytest.raises(UnsafeInterpreter, match=r"grader lies below .*lib"):
        check_nothing_protected(binds, [], [course])
    check_nothing_protected(binds, [tmp_path / "lib" / "site-packages"], [course])


def test_the_course_is_protected_here():
    names = {path.name for path in protected_paths()}
    assert {"grader", "reference_model", "solution"} <= names


def test_links_in_a_submission_are_not_followed(tmp_path):
    folder = write_submission(tmp_path / "s", attention="x = 1")
    (folder / "assignment" / "secret.py").symlink_to(Path(__file__))
    (folder / "assignment" / "data.bin").write_bytes(b"x")
    assert list(submission_files(folder)) == ["assignment/attention.py"]


def test_too_many_files_are_refused(tmp_path):
    folder = write_submission(tmp_path / "s", **{f"m{i}": "" for i in range(201)})
    with pytest.raises(ValueError, match="more than 200 files"):
        submission_files(folder)


@pytest.mark.parametrize(
    ("name", "tier", "user"),
    [
        ("bubblewrap", "bubblewrap (user namespace)", 1000),
        ("portable", "portable (this user, Landlock)", 65534),
    ],
)
def test_an_ordinary_user_gets_a_sandbox_too(tmp_path, name, tier, user):
    """The same as user 65534, for whom folders closed to others are replaced where needed."""
    if os.geteuid() != 0:
        pytest.skip("the other tests already run as an ordinary user")
    require_bubblewrap()
    if name == "portable" and not landlock_version():
        pytest.skip("this kernel has no Landlock")
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    paths = [*sys.path, str(ROOT), str(ROOT / "tests")]
    program = f"""
import os, sys
sys.path[:] = {paths!r}
from pathlib import Path
from sandbox_support import start
from grader.sandbox import choose_sandbox
source = "import os; answer = [os.getuid(), np.arange(3).sum()]"
with start(Path({str(folder)!r}), choose_sandbox({name!r})) as student:
    print(student.tier, *student.run(source))
    forbidden_ones = [
        "open({str(folder)!r} + '/assignment/attention.py', 'a')",
        "open('/tmp/x', 'w')",
        "open('/etc/passwd')",
        "__import__('os').kill(-1, 9)",
        f"__import__('os').kill({{os.getpid()}}, 9)",
    ]
    for forbidden in forbidden_ones:
        try:
            student.run(forbidden)
            print("allowed:", forbidden)
        except OSError:
            pass
"""
    opened = opened_to_others([Path(sys.base_prefix), Path(sys.prefix), ROOT, folder])
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    command = [bubblewrap_program().path, *opened, "--cap-add", "ALL", "--", *as_nobody]
    ran = subprocess.run(
        [*command, sys.executable, "-B", "-c", program], capture_output=True, text=True
    )
    assert ran.stdout == f"{tier} {user} 3\n", ran.stderr


def opened_to_others(folders: list[Path]) -> list[str]:
    """Options for the machine as it is, save that others can reach `folders`."""
    options = ["--dev-bind", "/", "/"]
    for folder in folders:
        closed = [p for p in folder.parents if not p.stat().st_mode & stat.S_IXOTH]
        if closed:
            options += ["--perms", "0755", "--tmpfs", str(closed[-1])]
            between = [p for p in folder.parents if p != closed[-1] and closed[-1] in p.parents]
            for path in reversed(between):
                options += ["--perms", "0755", "--dir", str(path)]
    for folder in folders:
        options += ["--bind", str(folder), str(folder)]
    return options


def test_without_a_sandbox_calls_work_and_the_course_is_not_importable(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, choose_sandbox("none")) as student:
        assert student.tier == "none"
        assert student.run("answer = np.arange(3)").tolist() == [0, 1, 2]
        for name in ("grader", "reference_model", "solution", "pytest"):
            with pytest.raises(ModuleNotFoundError):
                student.run(f"import {name}")


def test_without_a_sandbox_processes_end_with_the_worker(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, choose_sandbox("none")) as student:
        source = "import subprocess; answer = subprocess.Popen(['/bin/sleep', '100']).pid"
        sleeper = os.pidfd_open(student.run(source))
        assert not select.select([sleeper], [], [], 0)[0]
    try:
        assert select.select([sleeper], [], [], 10)[0], "it is still asleep"
    finally:
        os.close(sleeper)


def test_the_filter_is_used():
    assert (load_filter() is None) == ("no syscall filter" in require_bubblewrap().tier)


class Leaky:
    """Starts a worker that finds the course on its path, as a careless installation would."""

    kind = tier = "leaky"

    def launch(self, submission, limits, slot, modules, mapped):
        pipes = Pipes()
        config = worker_config(
            limits,
            packages=str(Path(np.__file__).parent.parent),
            request_fd=pipes.far_request,
            reply_fd=pipes.far_reply,
            nonce=b"12345678".hex(),
        )
        worker = str(ROOT / "grader" / "sandbox" / "worker" / "start.py")
        program = f"""
import runpy, sys
sys.path.append({str(ROOT)!r})
sys.argv = ["start.py", {config!r}]
runpy.run_path({worker!r}, run_name="__main__")
"""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", program],
            pass_fds=pipes.far,
            start_new_session=True,
        )
        close_all(pipes.far)
        return WorkerProcess(process, *pipes.near, b"12345678")


def test_a_worker_that_could_import_the_course_is_not_used(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    student = start(folder, Leaky())
    with pytest.raises(SandboxUnavailable, match="could import reference_model"):
        student.run("answer = 1")


# ---- Limits from a file, and how many submissions fit into a machine's memory

MIB = 1 << 20


@pytest.fixture
def limits_file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "limits.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_a_file_changes_what_it_names(limits_file):
    path = limits_file("total_seconds = 30\nmemory_mib = 1024 # small machines\n")
    assert load_limits(path) == Limits(total_seconds=30.0, memory_mib=1024)
    assert load_limits(path).rlimits()["AS"] == 1024 * MIB
    assert load_limits(None) == load_limits(limits_file("")) == Limits()


def test_the_defaults_are_within_the_ranges():
    assert set(RANGES) == set(vars(Limits()))
    for name, (least, most) in RANGES.items():
        assert least <= getattr(Limits(), name) <= most


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("memory_mib = 3", r"memory_mib is 3; it must be a whole number from 512 to 1048576"),
        ("memory_mib = 1e30", r"memory_mib is 1e\+30; it must be a whole number"),
        ("cpu_seconds = 1.5", r"cpu_seconds is 1\.5; it must be a whole number from 1 to 86400"),
        ("processes = true", r"processes is True; it must be a whole number"),
        ("call_seconds = 'long'", r"call_seconds is 'long'; it must be a number from 0\.1"),
        ("call_seconds = inf", r"call_seconds is inf; it must be a number from 0\.1"),
        ("call_seconds = nan", r"call_seconds is nan; it must be a number from 0\.1"),
        ("memory = 5", r'there is no limit called "memory", only call_seconds, idle_seconds'),
        ("memory_mib 5", r"limits\.toml are not valid TOML: .*line 1"),
        ("processes = 0\nframe_mib = 0", r"processes is 0; .*; frame_mib is 0; it must be"),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(limits_file, text, told):
    with pytest.raises(GraderError, match=told):
        load_limits(limits_file(text))


def test_an_absent_file_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(GraderError, match=r"none\.toml cannot be read: No such file"):
        load_limits(tmp_path / "none.toml")
    with pytest.raises(GraderError, match=r"cannot be read: Is a directory"):
        load_limits(tmp_path)


def test_memory_decides_how_many_fit():
    limits = Limits(memory_mib=2048)
    assert affordable_jobs(limits, 16 * 1024) == 6
    assert affordable_jobs(limits, 100) == 1


def test_a_containers_memory_counts(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 8388608 kB\n")
    assert available_memory_mib(tmp_path) == 8192
    group = tmp_path / "sys" / "fs" / "cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text(f"{512 * MIB}\n")
    assert available_memory_mib(tmp_path) == 8192
    (group / "memory.max").write_text(f"{2048 * MIB}\n")
    assert available_memory_mib(tmp_path) == 1536


def test_fewer_are_graded_at_once_than_would_fill_the_memory(monkeypatch, capsys):
    monkeypatch.setattr(grader_run, "affordable_jobs", lambda limits: 3)
    monkeypatch.setattr(grader_run, "usable_cores", lambda: 8)
    assert grader_run._jobs(None, Limits(), 2) == 2
    assert not capsys.readouterr().err
    assert grader_run._jobs(None, Limits(), 100) == 3
    assert "3 at once instead of 8, as each submission may use 2048 MiB" in capsys.readouterr().err
    assert grader_run._jobs(6, Limits(), 100) == 6
    assert "--jobs 3 would fit" in capsys.readouterr().err


def test_doctor_tells_of_each_tier(monkeypatch):
    class Here:
        tier = "jail (deep)"

        @classmethod
        def working(cls):
            return cls()

    class Absent:
        @classmethod
        def working(cls):
            raise SandboxUnavailable("jail is not installed")

    for name, kind in zip(TIERS, (Here, Absent, Here, Absent), strict=True):
        monkeypatch.setitem(TIERS, name, kind)
    checks = list(doctor._tiers())
    assert [check.name for check in checks] == [f"sandbox {name}" for name in TIERS]
    assert [check.state for check in checks] == ["ok", "info", "ok", "info"]
    assert checks[0].found == "jail (deep)" and "jail is not installed" in checks[1].found


# ---- The compiled system call filters: they are there, current, and say what they should

ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW = 0x7FFF0000
EPERM, ENOSYS = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS
KILL = (0, 0x80000000)

NUMBERS = {
    "x86_64": {"read": 0, "clone": 56, "execve": 59, "prctl": 157, "ioctl": 16, "socket": 41},
    "aarch64": {"read": 63, "clone": 220, "execve": 221, "prctl": 167, "ioctl": 29, "socket": 198},
}


def run(program: bytes, architecture: int, number: int, args=()) -> int:
    """What a filter returns for one system call: a classic BPF machine with the parts used here."""
    args = [*args, *[0] * 6][:6]
    data = struct.pack("<iIQ6Q", number, architecture, 0, *(a & (2**64 - 1) for a in args))
    steps = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        code, if_true, if_false, k = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, k)
        elif code == 0x54:
            accumulator &= k
        elif code == 0x05:
            at += k
        elif code in COMPARE:
            at += if_true if COMPARE[code](accumulator, k) else if_false
        elif code == 0x06:
            return k
        else:
            raise AssertionError(f"unexpected BPF instruction {code:#x}")


COMPARE = {
    0x15: lambda a, k: a == k,
    0x25: lambda a, k: a > k,
    0x35: lambda a, k: a >= k,
    0x45: lambda a, k: bool(a & k),
}


@pytest.fixture(params=list(seccomp.ARCHITECTURES))
def shipped(request):
    """(name of the architecture, verdict(number, *args)) of a shipped filter."""
    program = filters.blob_path(request.param).read_bytes()
    code = ARCHITECTURE[request.param]
    return request.param, lambda number, *args: run(program, code, number, args)


def test_this_machine_has_a_filter():
    if platform.machine() not in seccomp.ARCHITECTURES:
        pytest.skip(f"no filter is shipped for {platform.machine()}")
    assert filters.load_filter()


def test_ordinary_calls_pass_and_others_do_not(shipped):
    name, verdict = shipped
    numbers = NUMBERS[name]
    assert verdict(numbers["read"]) == verdict(numbers["execve"]) == ALLOW
    assert verdict(numbers["socket"]) == EPERM
    assert verdict(435) == verdict(9999) == ENOSYS


def test_only_threads_can_be_cloned(shipped):
    name, verdict = shipped
    clone = NUMBERS[name]["clone"]
    as_glibc_does = 0x3D0F00
    assert verdict(clone, as_glibc_does) == ALLOW
    assert verdict(clone, 17) == ENOSYS
    for bit in range(7, 31):
        namespace = bool(seccomp.CLONE_NAMESPACES & 1 << bit)
        assert (verdict(clone, as_glibc_does | 1 << bit) == ALLOW) is not namespace


def test_the_parents_death_stays_a_death_sentence(shipped):
    name, verdict = shipped
    set_pdeathsig, set_name = 1, 15
    assert verdict(NUMBERS[name]["prctl"], set_name) == ALLOW
    assert verdict(NUMBERS[name]["prctl"], set_pdeathsig, 0) == ENOSYS


def test_no_keystrokes_can_be_pushed_into_a_terminal(shipped):
    name, verdict = shipped
    assert verdict(NUMBERS[name]["ioctl"], 1, 0x5401) == ALLOW
    assert verdict(NUMBERS[name]["ioctl"], 1, 0x5412) == ENOSYS
    assert verdict(NUMBERS[name]["ioctl"], 1, 0x5401 | 1 << 32) == ENOSYS


def test_another_architectures_calls_are_fatal(shipped):
    name, _ = shipped
    program = filters.blob_path(name).read_bytes()
    i386 = 0x40000003
    assert run(program, i386, 3) in KILL
    if name == "x86_64":
        x32_read = 0x40000000
        assert run(program, ARCHITECTURE[name], x32_read) in (*KILL, ENOSYS)


# What no submission may ever reach: number on x86_64, on aarch64, name.
NEVER = [
    *((41, 198, "socket"), (53, 199, "socketpair"), (42, 203, "connect"), (49, 200, "bind")),
    *((101, 117, "ptrace"), (250, 219, "keyctl"), (248, 217, "add_key"), (249, 218, "request_key")),
    *((425, 425, "io_uring_setup"), (426, 426, "io_uring_enter"), (427, 427, "io_uring_register")),
    *((165, 40, "mount"), (166, 39, "umount2"), (429, 429, "move_mount"), (428, 428, "open_tree")),
    *((430, 430, "fsopen"), (272, 97, "unshare"), (308, 268, "setns"), (321, 280, "bpf")),
    *((323, 282, "userfaultfd"), (310, 270, "process_vm_readv"), (311, 271, "process_vm_writev")),
    *((440, 440, "process_madvise"), (448, 448, "process_mrelease"), (155, 41, "pivot_root")),
    *((161, 51, "chroot"), (438, 438, "pidfd_getfd"), (424, 424, "pidfd_send_signal")),
    *((437, 437, "openat2"), (319, 279, "memfd_create"), (133, 33, "mknod")),
]


def test_what_reaches_beyond_the_worker_is_refused(shipped):
    name, verdict = shipped
    for *numbers, call in NEVER:
        number = numbers[list(ARCHITECTURE).index(name)]
        assert verdict(number) in (EPERM, ENOSYS), call


LAYERED = {
    "x86_64": {"kill": 62, "tgkill": 234, "execve": 59, "setuid": 105, "prlimit64": 302},
    "aarch64": {"kill": 129, "tgkill": 131, "execve": 221, "setuid": 146, "prlimit64": 261},
}
MORE = {"x86_64": {"fcntl": 72, "openat": 257}, "aarch64": {"fcntl": 25, "openat": 56}}


@pytest.fixture(params=list(seccomp.ARCHITECTURES))
def layer(request):
    """`layer(name, call, *args)`: the verdict of a layer of the portable tier."""
    numbers = LAYERED[request.param] | MORE[request.param]
    code = ARCHITECTURE[request.param]

    def verdict(name: str, call: str, *args: int) -> int:
        program = filters.blob_path(request.param, name).read_bytes()
        return run(program, code, numbers[call], args)

    return verdict


def test_the_shared_layer_keeps_a_worker_to_itself(layer):
    for call in ("kill", "tgkill", "execve", "setuid"):
        assert layer("shared", call) == EPERM
    assert layer("shared", "prlimit64", 0) == ALLOW
    assert layer("shared", "prlimit64", 1234) == EPERM
    get_flags, set_owner, set_signal, duplicate = 1, 8, 10, 1030
    assert layer("shared", "fcntl", 3, get_flags) == layer("shared", "fcntl", 3, duplicate) == ALLOW
    # The kernel takes the low word only.
    for command in (set_owner, set_signal, set_owner | 1 << 32, set_signal | 7 << 40):
        assert layer("shared", "fcntl", 3, command) == EPERM


def test_the_readonly_layer_lets_nothing_be_opened_for_writing(layer):
    eacces = 0x50000 | errno.EACCES
    read, write, both, create, truncate, close_on_exec = 0, 1, 2, 0o100, 0o1000, 0o2000000
    for flags in (read, close_on_exec, close_on_exec | 1 << 40):
        assert layer("readonly", "openat", 0, 0, flags) == ALLOW
    for flags in (write, both, write | both, create, truncate, close_on_exec | write):
        assert layer("readonly", "openat", 0, 0, flags) == eacces
    if layer("shared", "fcntl", 0, 8) == EPERM:  # the layers do not repeat each other
        assert layer("readonly", "fcntl", 0, 8) == ALLOW


def test_containers_get_the_same_policy():
    for name in seccomp.ARCHITECTURES:
        shipped = json.loads(filters.profile_path(name).read_text("utf-8"))
        assert shipped == seccomp.container_profile(name), "run: python -m grader.sandbox.seccomp"
        assert shipped["defaultErrnoRet"] == errno.ENOSYS
        allowed = {n for rule in shipped["syscalls"] for n in rule["names"] if "ALLOW" in str(rule)}
        assert {"read", "clone", "landlock_restrict_self"} <= allowed
        assert not allowed & {call for *_, call in NEVER}


def test_the_shipped_filters_are_what_the_policy_compiles_to():
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, OSError) as error:
        pytest.skip(f"libseccomp is not here: {error}")
    arguments = [(), (17,), (0x3D0F00,), (1, 9), (1, 0), (0, 0x5401), (0, 0x5412), (0x53564D41,)]
    of_layers = [(), (0, 0, 0o1), (0, 0o100), (5,), (3, 8)]
    for (name, code), layer in product(ARCHITECTURE.items(), filters.LAYERS):
        shipped = filters.blob_path(name, layer).read_bytes()
        current = seccomp.compile_filter(name, layer)
        different = [
            (number, args)
            for number, args in product(range(480), of_layers if layer else arguments)
            if run(shipped, code, number, args) != run(current, code, number, args)
        ]
        assert different == [], "run: python -m grader.sandbox.seccomp"
