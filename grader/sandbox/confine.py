"""The first program in a container and in the portable tier: gives up rights, then is the worker.

Runs as `python -I -S -B confine.py` with the pipes of the protocol as standard input and output,
and the pipe for prints as standard error. The first bytes of the input are the plan: four bytes of
length and a JSON object. Everything here happens before any code of a submission, and whatever
cannot be done ends the program. Only the standard library exists here.
"""

import ctypes
import json
import os
import signal
import struct
import sys

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 1, 38, 22
SECCOMP_MODE_FILTER = 2

# System call numbers of Landlock, the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
# https://docs.kernel.org/userspace-api/landlock.html, access rights by the version they came with.
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: TRUNCATE, 5: IOCTL_DEV}
NETWORK_RIGHTS = {4: 0b11}
SCOPES = {6: 0b11}  # abstract unix sockets and signals
RULE_PATH_BENEATH = 1
LOG_SAME_EXEC_OFF, LOG_SINCE = 1, 7
RIGHTS = {
    "read": READ_FILE | READ_DIR,
    "list": READ_DIR,
    "device": READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


class Program(ctypes.Structure):
    """struct sock_fprog: a BPF program for the kernel."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def call(number: int, *args) -> int:
    """A system call by number; OSError when it fails."""
    result = libc.syscall(ctypes.c_long(number), *args)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def prctl(*args) -> None:
    words = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args[1:]]
    if libc.prctl(args[0], *words, *[ctypes.c_ulong(0)] * (5 - len(args))):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def landlock_version() -> int:
    """The version of Landlock that the kernel speaks; 0 when it has none or it is switched off."""
    try:
        return call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def landlock_ruleset(grants: list) -> int:
    """A ruleset that allows `grants`, pairs of a path and a name in RIGHTS, and nothing else."""
    version = landlock_version()

    def known(table):
        return sum(rights for since, rights in table.items() if since <= version)

    handled = known(FILE_RIGHTS)
    attributes = struct.pack("QQQ", handled, known(NETWORK_RIGHTS), known(SCOPES))
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = call(CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    for path, name in grants:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rights = RIGHTS[name] & handled
        if not os.path.isdir(path):  # noqa: PTH112
            rights &= ~READ_DIR
        rule = struct.pack("=Qi", rights, fd)
        arguments = ctypes.c_int(ruleset), ctypes.c_int(RULE_PATH_BENEATH), rule, ctypes.c_uint(0)
        call(ADD_RULE, *arguments)
        os.close(fd)
    return ruleset


def restrict_self(ruleset: int) -> None:
    # Without the flag a submission could flood the kernel's audit log with refusals.
    flags = LOG_SAME_EXEC_OFF if landlock_version() >= LOG_SINCE else 0
    call(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint(flags))
    os.close(ruleset)


def drop_to(uid: int) -> None:
    """Become an ordinary user for good, with a group of the same number and no other."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (uid,) * 3 or os.getgroups():
        raise PermissionError("the worker could not become an unprivileged user")


def die_with(parent: int) -> None:
    """Be killed when the grader's thread that started this ends. Changing the user undoes it."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def refuse_readable(paths: list[str]) -> None:
    """End when a submission could read one of `paths`: nothing but file modes hides them."""
    for path in paths:
        # A folder that can only be entered still gives away a file whose name is known.
        if os.access(path, os.R_OK) or (os.path.isdir(path) and os.access(path, os.X_OK)):  # noqa: PTH112
            sys.exit(
                f"every user of this machine can read {path}, and this kernel has no Landlock to "
                "prevent it; close it or a folder above it with: chmod go-rwx FOLDER"
            )


def install(program: bytes) -> None:
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(len(program) // 8, program)))


def read_plan() -> dict:
    (length,) = struct.unpack("<I", read_exactly(4))
    return json.loads(read_exactly(length))


def read_exactly(count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            os._exit(1)
        data += part
    return data


def move_pipes(keep: list[int]) -> tuple[int, int]:
    """(request, reply) under new numbers; standard input is empty, standard output is the error's.

    A submission's prints must not land in the protocol. Descriptors not in `keep` are closed.
    """
    for fd in range(3, 256):
        if fd not in keep:
            try:
                os.close(fd)
            except OSError:
                continue
    request, reply = os.dup(0), os.dup(1)
    null = os.open("/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return request, reply


def confine(plan: dict) -> list[str]:
    """Give up everything the plan says; returns the arguments of the worker."""
    config = plan["config"]
    kept = list(config["mapped"].values())
    config["request_fd"], config["reply_fd"] = move_pipes([fd for fd in kept if type(fd) is int])
    for name, place in config["mapped"].items():
        if type(place) is str:
            config["mapped"][name] = os.open(place, os.O_RDONLY)
    ruleset = None
    if plan["grants"] is not None and landlock_version():
        ruleset = landlock_ruleset(plan["grants"])
    if plan["cwd"] is not None:
        os.chdir(plan["cwd"])
    if plan["uid"] is not None:
        drop_to(plan["uid"])
    if plan["parent"] is not None:
        die_with(plan["parent"])
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if ruleset is not None:
        restrict_self(ruleset)
    refuse_readable(plan["protected"])
    for program in plan["filters"]:
        install(bytes.fromhex(program))
    return [plan["worker"], json.dumps(config)]


def main() -> None:
    sys.argv = confine(read_plan())
    path = sys.argv[0]
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    names = {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__}
    exec(compile(text, path, "exec"), names)


if __name__ == "__main__":
    main()
