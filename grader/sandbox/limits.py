"""What one submission may use: the defaults, a file that changes them, and how many fit at once."""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

from grader.base.errors import GraderError

MIB = 1 << 20
# The kernel counts these per user. Where a worker has no user of its own they would strike the
# person's other programs, and be used up by them.
PER_USER = ("NPROC", "SIGPENDING", "MSGQUEUE")
# The grader's own process for a submission: interpreter, numpy, tests, oracle.
PARENT_MIB = 400

# What a file may ask for: smallest, largest.
RANGES = {
    "call_seconds": (0.1, 3600.0),
    "idle_seconds": (0.1, 3600.0),
    "total_seconds": (1.0, 86400.0),
    "start_seconds": (1.0, 600.0),
    "slot_seconds": (1.0, 86400.0),
    "cpu_seconds": (1, 86400),
    "memory_mib": (512, 1 << 20),
    "processes": (1, 1024),
    "file_mib": (0, 1024),
    "output_kib": (1, 65536),
    "frame_mib": (1, 256),
}


@dataclass(frozen=True)
class Limits:
    """Bounds on one submission.

    Time for which a worker waits while other processes have the cores is not the submission's (see
    grader.sandbox.clock); only `start_seconds` and `slot_seconds` are of the clock on the wall.

    Attributes:
        call_seconds: processor time of one call of a function.
        idle_seconds: sleep in one call.
        total_seconds: processor time and sleep in all calls of a submission together.
        start_seconds: from the start of a worker to its first answer.
        slot_seconds: from the start of a submission to its record; then the state is `error`, and
            the next run tries again.
        cpu_seconds: processor time of one worker.
        memory_mib: address space of one worker, the interpreter's and numpy's included.
        processes: threads of one worker, the first included (where the kernel can count them).
        file_mib: the largest file, were one writable.
        output_kib: how much of the prints is kept.
        frame_mib: the largest question and the largest answer.
    """

    call_seconds: float = 5.0
    idle_seconds: float = 10.0
    total_seconds: float = 90.0
    start_seconds: float = 20.0
    slot_seconds: float = 600.0
    cpu_seconds: int = 120
    memory_mib: int = 2048
    processes: int = 8
    file_mib: int = 16
    output_kib: int = 256
    frame_mib: int = 8

    @property
    def frame_bytes(self) -> int:
        return self.frame_mib * MIB

    def rlimits(self) -> dict[str, int]:
        """Resource limits for the worker, by the name behind RLIMIT_."""
        return {
            "AS": self.memory_mib * MIB,
            "CPU": self.cpu_seconds,
            "NPROC": self.processes,
            "FSIZE": self.file_mib * MIB,
            "NOFILE": 64,
            "CORE": 0,
            "STACK": 8 * MIB,
            "MEMLOCK": 0,
            "MSGQUEUE": 0,
            "SIGPENDING": 64,
        }


def load_limits(path: Path | None) -> Limits:
    """The defaults, changed by the keys of a TOML file; GraderError names the key that is wrong."""
    if path is None:
        return Limits()
    try:
        wanted = tomllib.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise GraderError(f"The limits {path} cannot be read: {problem.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise GraderError(f"The limits {path} are not valid TOML: {problem}.") from None
    try:
        return Limits(**_file_model().model_validate(wanted).model_dump(exclude_unset=True))
    except ValidationError as problem:
        told = "; ".join(map(_sentence, problem.errors()))
        raise GraderError(f"The limits {path} cannot be used: {told}.") from None


def _file_model() -> type[BaseModel]:
    bounded: dict[str, Any] = {
        name: (type(least), Field(default=None, ge=least, le=most, strict=True))
        for name, (least, most) in RANGES.items()
    }
    config = ConfigDict(extra="forbid", allow_inf_nan=False)
    return create_model("LimitsFile", __config__=config, **bounded)


def _sentence(error: ErrorDetails) -> str:
    key, found = error["loc"][0], error["input"]
    if key not in RANGES:
        return f'there is no limit called "{key}", only {", ".join(RANGES)}'
    least, most = RANGES[key]
    kind = "a whole number" if type(least) is int else "a number"
    return f"{key} is {found!r}; it must be {kind} from {least} to {most}"


def affordable_jobs(limits: Limits, memory_mib: float | None = None) -> int:
    """How many submissions can be graded at once if each used all the memory it may.

    `memory_mib` is the memory to share out, by default what is available now.
    """
    memory = available_memory_mib() if memory_mib is None else memory_mib
    return max(1, int(memory // (limits.memory_mib + PARENT_MIB)))


def available_memory_mib(root: Path = Path("/")) -> float:
    """Memory that this machine, or the container that this process is in, has left."""
    found = [_of_machine(root), _of_group(root, "sys/fs/cgroup/memory.max", "memory.current")]
    group = "sys/fs/cgroup/memory/memory.limit_in_bytes"
    found.append(_of_group(root, group, "memory.usage_in_bytes"))
    return min(memory for memory in found if memory is not None) / MIB


def _of_machine(root: Path) -> float:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _of_group(root: Path, limit: str, used: str) -> float | None:
    """Bytes left in the control group that a container shows as the first; None without one."""
    try:
        most = int((root / limit).read_text())
        return max(0, most - int(((root / limit).parent / used).read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return None
