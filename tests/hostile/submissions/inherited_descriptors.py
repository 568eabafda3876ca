# Right answers; what else was left open.
import os
import stat

from .attempts import attempt


def left_open():
    found = []
    for fd in range(3, 4096):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if not stat.S_ISFIFO(mode):
            found.append((fd, oct(mode)))
    return found


def pipes():
    found = 0
    for fd in range(3, 4096):
        try:
            found += stat.S_ISFIFO(os.fstat(fd).st_mode)
        except OSError:
            continue
    return found > 2


attempt("anything but pipes", left_open)
attempt("more pipes than the two of the protocol", pipes)
attempt("standard input", lambda: os.read(0, 1000))
attempt("the terminal", lambda: open("/dev/tty"))
