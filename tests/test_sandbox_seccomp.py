"""The compiled system call filters: they are there, current, and say what they should.

The programs are run by a small interpreter, so that two versions of libseccomp, which arrange the
same policy differently, still compare equal.
"""

import errno
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


def test_the_shipped_filters_are_what_the_policy_compiles_to():
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, OSError) as error:
        pytest.skip(f"libseccomp is not here: {error}")
    arguments = [(), (17,), (0x3D0F00,), (1, 9), (1, 0), (0, 0x5401), (0, 0x5412), (0x53564D41,)]
    for name, code in ARCHITECTURE.items():
        shipped = filters.blob_path(name).read_bytes()
        current = seccomp.compile_filter(name)
        different = [
            (number, args)
            for number, args in product(range(480), arguments)
            if run(shipped, code, number, args) != run(current, code, number, args)
        ]
        assert different == [], "run: python -m grader.sandbox.seccomp"
