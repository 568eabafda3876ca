"""What one submission may use."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds on one submission; seconds are wall time unless said otherwise."""

    call_seconds: float = 5.0
    start_seconds: float = 20.0
    total_seconds: float = 90.0
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
