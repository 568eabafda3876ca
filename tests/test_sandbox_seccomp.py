"""The compiled system call filters: they are there, current, and say what they should.

The programs are run by a small interpreter, so that two versions of libseccomp, which arrange the
same policy differently, still compare equal.
"""

import errno
import json
import platform
import struct
from itertools import product

import pytest

from grader.sandbox import filters, seccomp

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
