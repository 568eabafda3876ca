"""Shared by the submissions that look for a way out; laid beside each that imports it.

What is printed ends up in the record, where the test looks for it: GOT IT must never stand there.
"""

import fcntl
import os
import stat
import struct
import sys


def attempt(what, action):
    """Say whether `action` brought anything: it failed where it raises or gives nothing back."""
    try:
        found = action()
    except BaseException as problem:
        print(f"refused {what}: {type(problem).__name__}", flush=True)
    else:
        print(f"GOT IT {what}: {found!r:.300}" if found else f"refused {what}", flush=True)


def reply_pipe():
    """The descriptor on which the worker answers."""
    for fd in range(3, 64):
        try:
            is_pipe = stat.S_ISFIFO(os.fstat(fd).st_mode)
            writable = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
        except OSError:
            continue
        if is_pipe and writable:
            return fd
    raise LookupError("no pipe")


def open_nonce():
    """The number that the answer to the open request must carry, from the worker's own frames."""
    frame = sys._getframe()
    while frame is not None:
        if "header" in frame.f_locals and frame.f_code.co_name == "serve":
            return bytes(frame.f_locals["header"][-8:])
        frame = frame.f_back
    return bytes(8)


def worker_names():
    """The worker's own global names, whatever module it runs as."""
    step = sys._getframe()
    while "Watched" not in step.f_globals:
        step = step.f_back
    return step.f_globals


def frame(message, numbers=b"", nonce=None):
    """A frame as the worker would build it, around any bytes."""
    header = struct.pack("<IQ8s", len(message), len(numbers), nonce or open_nonce())
    return header + message + numbers


def send(data):
    """Push bytes at the grader until all are gone."""
    fd = reply_pipe()
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
