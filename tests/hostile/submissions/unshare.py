# Right answers; namespaces of one's own, and rights in them.
import ctypes
import os
import resource

from .attempts import attempt

libc = ctypes.CDLL(None)
NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x20000,
    "pid": 0x20000000,
    "network": 0x40000000,
    "ipc": 0x8000000,
    "host name": 0x4000000,
    "control group": 0x2000000,
    "files": 0x400,
}
for name, flag in NAMESPACES.items():
    attempt(f"unshare {name}", lambda: libc.unshare(flag) == 0)
attempt("setns", lambda: libc.setns(0, 0) == 0)
attempt("setuid", lambda: os.setuid(0) is None)
attempt("the user of another slot", lambda: os.setuid(os.getuid() + 1) is None)
attempt("groups", lambda: os.setgroups([0]) is None)
attempt("higher limits", lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) is None)
attempt("more processes", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (4096, 4096)) is None)
attempt("a host name", lambda: libc.sethostname(b"hostile", 7) == 0)
attempt("higher priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20) is None)
