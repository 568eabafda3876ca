# Right answers; everything that /proc and /sys tell of other processes.
import contextlib
import os

from .attempts import attempt


def others(name):
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
                found.append((pid, file.read(2000)))
    return [(pid, content) for pid, content in found if content.strip(b"\0")]


def links(name):
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            with contextlib.suppress(OSError):
                found.append((pid, os.readlink(f"/proc/{pid}/{name}")))
    return found


for name in ("cmdline", "environ", "maps", "mem", "stack", "mountinfo", "syscall"):
    attempt(f"{name} of others", lambda: others(name))
for name in ("cwd", "root", "exe"):
    attempt(f"{name} of others", lambda: links(name))
attempt("own mounts", lambda: open("/proc/self/mountinfo").read())
attempt("own environment", lambda: open("/proc/self/environ", "rb").read())
attempt("write a kernel setting", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attempt("control groups", lambda: os.listdir("/sys/fs/cgroup"))
