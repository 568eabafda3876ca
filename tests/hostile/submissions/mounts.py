# Right answers; other file systems and other names for them.
import ctypes
import os

from .attempts import attempt

libc = ctypes.CDLL(None)


def succeeded(result):
    return result == 0


attempt("mount tmpfs", lambda: succeeded(libc.mount(b"none", b"/tmp", b"tmpfs", 0, 0)))
attempt("mount proc", lambda: succeeded(libc.mount(b"proc", b"/tmp", b"proc", 0, 0)))
attempt("bind mount", lambda: succeeded(libc.mount(b"/", b"/tmp", 0, 4096, 0)))
attempt("remount", lambda: succeeded(libc.mount(0, b"/", 0, 32, 0)))
attempt("umount", lambda: succeeded(libc.umount2(b"/tmp", 2)))
attempt("pivot_root", lambda: succeeded(libc.syscall(155, b"/tmp", b"/tmp")))
attempt("chroot", lambda: os.chroot("/tmp") is None)
attempt("mknod", lambda: os.mknod("/tmp/hostile_trace_disk", 0o60600, os.makedev(8, 0)) is None)
attempt("chmod", lambda: os.chmod("/submission", 0o777) is None)
attempt("chown", lambda: os.chown("/submission", os.getuid(), -1) is None)
attempt("the disk", lambda: open("/dev/sda", "rb"))
attempt("the memory", lambda: open("/dev/mem", "rb"))
attempt("the kernel's log", lambda: open("/dev/kmsg", "rb"))
