# Right answers; memory of other processes, keys, rings, probes.
import ctypes
import os

from .attempts import attempt

libc = ctypes.CDLL(None)
CALLS = {
    # name: (x86-64, aarch64, arguments)
    "ptrace the parent": (101, 117, (16, os.getppid(), 0, 0)),
    "ptrace traceme": (101, 117, (0, 0, 0, 0)),
    "ptrace seize": (101, 117, (0x4206, os.getppid(), 0, 0)),
    "process_vm_readv": (310, 270, (os.getppid(), 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, 271, (os.getppid(), 0, 0, 0, 0, 0)),
    "kcmp": (312, 272, (os.getpid(), os.getppid(), 0, 0, 0)),
    "pidfd_open": (434, 434, (os.getppid(), 0)),
    "keyctl": (250, 219, (0, -3, 1)),
    "add_key": (248, 217, (b"user", b"hostile", b"x", 1, -3)),
    "io_uring_setup": (425, 425, (8, bytes(120))),
    "bpf": (321, 280, (0, bytes(64), 64)),
    "userfaultfd": (323, 282, (1,)),
    "perf_event_open": (298, 241, (bytes(128), 0, -1, -1, 0)),
    "memfd_create": (319, 279, (b"hostile_trace", 0)),
    "shmget": (29, 194, (0, 4096, 0o1600)),
    "msgget": (68, 186, (0, 0o1600)),
    "mq_open": (240, 180, (b"hostile_trace", 0o102, 0o600, 0)),
    "name_to_handle_at": (303, 264, (-100, b"/", bytes(128), bytes(8), 0)),
    "reboot": (169, 142, (0, 0, 0, 0)),
    "settimeofday": (164, 170, (bytes(16), 0)),
}
column = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)


def call(numbers, arguments):
    wrapped = [a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    return libc.syscall(numbers[column], *wrapped) != -1


for what, (*numbers, arguments) in CALLS.items():
    if column is not None:
        attempt(what, lambda: call(numbers, arguments))
