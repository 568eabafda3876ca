# Right answers; the environment by Python and by the C library, and who one is.
import ctypes
import os

from .attempts import attempt

libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p


def by_c():
    names = (b"HOSTILE_SECRET", b"HOME", b"USER", b"PYTHONPATH", b"SSH_AUTH_SOCK", b"VIRTUAL_ENV")
    return [value for value in map(libc.getenv, names) if value]


def by_pointer():
    pointer, found = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ"), []
    while pointer and pointer[len(found)]:
        found.append(pointer[len(found)])
    return [entry for entry in found if b"hostile" in entry or b"HOME" in entry]


attempt("os.environ", lambda: {k: v for k, v in os.environ.items() if "hostile" in v or k == "HOME"})
attempt("getenv", by_c)
attempt("environ", by_pointer)
attempt("root", lambda: os.getuid() == 0 or os.geteuid() == 0)
attempt("home", lambda: os.listdir(os.path.expanduser("~root")))
attempt("passwords", lambda: open("/etc/shadow").read())
