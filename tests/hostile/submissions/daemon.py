# Right answers; a daemon in a session of its own that waits for the next submission.
import ctypes
import os
import time

from .attempts import attempt


def daemon():
    if os.fork():
        return "a child"
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(1)
    os._exit(0)


SYS_FORK, SYS_VFORK, SYS_CLONE, SYS_CLONE3 = 57, 58, 56, 435
libc = ctypes.CDLL(None)


def raw(number, *arguments):
    pid = libc.syscall(number, *map(ctypes.c_long, arguments))
    if pid == 0:
        time.sleep(600)
        os._exit(0)
    return pid > 0


attempt("daemon", daemon)
if os.uname().machine == "x86_64":
    attempt("system call fork", lambda: raw(SYS_FORK))
    attempt("system call clone", lambda: raw(SYS_CLONE, 17, 0, 0, 0, 0))
