"""The few facts of a record that a class table shows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Summary:
    """What the class table shows of one submission; small, for a thousand stay in memory."""

    student: str
    state: str
    kept: bool
    parts: tuple[tuple[int, float, float], ...]  # part, points, maximum
    public: float
    hidden: float
    total: float
    max_total: float
    problem: str
