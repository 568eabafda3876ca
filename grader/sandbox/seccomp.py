"""The system calls a worker may make.

An allow-list: what Python and numpy need to compute, print and answer. Everything else does not
exist (ENOSYS, so that the C library falls back to older calls), and the calls a submission might
reasonably meet are refused with EPERM, which reads better. Threads may be started; processes may
not, so the limits on memory and CPU, which the kernel counts per process, bound the whole.

Where the worker has no namespaces of its own (the portable tier) more layers are laid over it; the
kernel takes the strictest answer of all. `shared` refuses what reaches other processes, `readonly`
refuses to open anything for writing, for kernels without Landlock.

The filters are shipped as compiled programs, one per architecture and layer, so that grading needs
no libseccomp. `python -m grader.sandbox.seccomp` compiles them again from this policy. Docker and
Podman get the same allow-list as JSON (container_profile).
"""

import errno
import json
import tempfile

from grader.sandbox.filters import LAYERS, blob_path, profile_path

ARCHITECTURES = {"x86_64": "X86_64", "aarch64": "AARCH64"}


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALLOWED = _names("""
    access arch_prctl brk clock_getres clock_gettime clock_nanosleep close close_range dup dup2 dup3
    epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 execve exit exit_group faccessat
    faccessat2 fadvise64 fcntl fstat fstatfs futex getcpu getcwd getdents64 getegid geteuid getgid
    getgroups getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit
    getrusage getsid gettid gettimeofday getuid lseek lstat madvise membarrier mincore mmap mprotect
    mremap msync munmap nanosleep newfstatat open openat pipe pipe2 poll ppoll pread64
    preadv prlimit64 pselect6 pwrite64 pwritev read readlink readlinkat readv restart_syscall rseq
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
    sched_getscheduler sched_setaffinity sched_yield select set_robust_list set_tid_address
    getitimer setgid setgroups setitimer setresgid setresuid setrlimit setuid sigaltstack stat
    statfs statx sysinfo tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime times tkill kill umask uname wait4 waitid write writev
""")

REFUSED = _names("""
    socket socketpair connect bind listen accept accept4 ptrace process_vm_readv process_vm_writev
    kcmp pidfd_open pidfd_getfd pidfd_send_signal keyctl add_key request_key bpf perf_event_open
    userfaultfd io_uring_setup io_uring_enter io_uring_register mount umount2 move_mount open_tree
    fsopen fsmount fsconfig fspick mount_setattr pivot_root chroot unshare setns kexec_load
    kexec_file_load init_module finit_module delete_module swapon swapoff reboot acct quotactl
    quotactl_fd name_to_handle_at open_by_handle_at personality fork vfork execveat memfd_create
    memfd_secret mknod mknodat mkdir mkdirat unlink unlinkat rename renameat renameat2 link linkat
    symlink symlinkat chmod fchmod fchmodat chown fchown lchown fchownat truncate ftruncate creat
    setxattr lsetxattr fsetxattr setsid setpgid sethostname setdomainname syslog iopl ioperm
    clock_settime settimeofday clock_adjtime adjtimex shmget shmat semget msgget mq_open
    inotify_init1 fanotify_init vmsplice splice tee lookup_dcookie
""")

CLONE_THREAD = 0x10000
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET
CLONE_NAMESPACES = 0x20000 | 0x7E000000

# GET_DUMPABLE, SET_NAME, GET_NAME, SET_SECCOMP (stricter filters only), CAPBSET_READ, SET_VMA
PRCTL_ALLOWED = (3, 15, 16, 22, 23, 0x53564D41)
PR_SET_NO_NEW_PRIVS = 38
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
IOCTL_ALLOWED = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)

# Calls that the layer `shared` refuses: signals to others, other users, other programs.
SHARED_REFUSED = _names("""
    kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo setuid setgid setgroups setresuid setresgid
    setreuid setregid setfsuid setfsgid execve
""")
# These act on another process when their first argument is not 0.
OWN_PROCESS_ONLY = ("prlimit64", "sched_setaffinity")
# F_SETLK, F_SETLKW, F_SETOWN, F_SETSIG, F_SETOWN_EX, the locks of open files, F_SETLEASE, F_NOTIFY:
# a descriptor's owner gets a signal of the setter's choice, and locks stop other programs.
FCNTL_REFUSED = (6, 7, 8, 10, 15, 37, 38, 1024, 1026)
LOW_WORD = 0xFFFFFFFF

# The argument that holds the flags.
OPENING = {"open": 1, "openat": 2}
# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
WRITING = (0o1, 0o2, 0o100, 0o1000)

# What a container's first program needs before it is the worker.
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


def compile_filter(architecture: str, layer: str = "") -> bytes:
    """A layer of the policy as a BPF program for `architecture`; needs libseccomp (pyseccomp)."""
    import pyseccomp as sc

    policy = sc.SyscallFilter(sc.ALLOW if layer else sc.ERRNO(errno.ENOSYS))
    wanted = getattr(sc.Arch, ARCHITECTURES[architecture])
    if sc.system_arch() != wanted:
        policy.add_arch(wanted)
        policy.remove_arch(sc.system_arch())
    fill = {"": _allow_list, "shared": _refuse_others, "readonly": _refuse_writing}
    fill[layer](policy, sc)
    with tempfile.TemporaryFile() as out:
        policy.export_bpf(out)
        out.seek(0)
        return out.read()


def _allow_list(policy, sc) -> None:
    for name in ALLOWED:
        _add(policy, sc.ALLOW, name)
    for name in REFUSED:
        _add(policy, sc.ERRNO(errno.EPERM), name)
    _add_clone_rules(policy, sc)
    for option in PRCTL_ALLOWED:
        policy.add_rule(sc.ALLOW, "prctl", sc.Arg(0, sc.EQ, option))
    for command in IOCTL_ALLOWED:
        policy.add_rule(sc.ALLOW, "ioctl", sc.Arg(1, sc.EQ, command))


def _refuse_others(policy, sc) -> None:
    refused = sc.ERRNO(errno.EPERM)
    for name in SHARED_REFUSED:
        _add(policy, refused, name)
    for name in OWN_PROCESS_ONLY:
        policy.add_rule(refused, name, sc.Arg(0, sc.NE, 0))
    for command in FCNTL_REFUSED:
        # The kernel looks at the low word only, so the filter must not be fooled by the high one.
        policy.add_rule(refused, "fcntl", sc.Arg(1, sc.MASKED_EQ, LOW_WORD, command))


def _refuse_writing(policy, sc) -> None:
    for name, position in OPENING.items():
        for flag in WRITING:
            only_if = sc.Arg(position, sc.MASKED_EQ, flag, flag)
            policy.add_rule(sc.ERRNO(errno.EACCES), name, only_if)


def container_profile(architecture: str) -> dict:
    """The allow-list as Docker's and Podman's seccomp profile, with Landlock's calls allowed too.

    Those calls can only take rights away; the container's first program makes them.
    """
    allow = "SCMP_ACT_ALLOW"

    def when(name: str, index: int, value: int, masked: int | None = None) -> dict:
        equal = {"index": index, "value": value, "op": "SCMP_CMP_EQ"}
        if masked is not None:
            equal |= {"valueTwo": masked, "op": "SCMP_CMP_MASKED_EQ"}
        return {"names": [name], "action": allow, "args": [equal]}

    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.ENOSYS,
        "architectures": [f"SCMP_ARCH_{ARCHITECTURES[architecture]}"],
        "syscalls": [
            {"names": [*ALLOWED, *LANDLOCK], "action": allow},
            {"names": list(REFUSED), "action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM},
            when("clone", 0, CLONE_THREAD | CLONE_NAMESPACES, CLONE_THREAD),
            *(when("prctl", 0, option) for option in PRCTL_ALLOWED),
            when("prctl", 0, PR_SET_NO_NEW_PRIVS),
            *(when("ioctl", 1, command) for command in IOCTL_ALLOWED),
        ],
    }


def _add(policy, action: int, name: str) -> None:
    try:
        policy.add_rule(action, name)
    except (OSError, ValueError) as error:
        # An older libseccomp does not know the newest names; refused ones then get ENOSYS.
        if name in ALLOWED:
            raise ValueError(f"libseccomp does not know the system call {name}") from error


def _add_clone_rules(policy, sc) -> None:
    """clone may start a thread and nothing else; clone3 (flags in memory) does not exist."""
    thread_only = sc.Arg(0, sc.MASKED_EQ, CLONE_THREAD | CLONE_NAMESPACES, CLONE_THREAD)
    policy.add_rule(sc.ALLOW, "clone", thread_only)


def main() -> None:
    for architecture in ARCHITECTURES:
        for layer in LAYERS:
            path = blob_path(architecture, layer)
            path.write_bytes(compile_filter(architecture, layer))
            print(f"wrote {path.name}")
        path = profile_path(architecture)
        path.write_text(json.dumps(container_profile(architecture), indent=1) + "\n", "utf-8")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
