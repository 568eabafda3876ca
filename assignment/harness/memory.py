"""How much memory a call takes beside what it was given: by that, copies of K and V are told.

At home numpy's allocations are counted by tracemalloc. In grading the call runs where the address
space may grow by so much and no more.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .compare import check
from .remarks import remark
from .words import tr

if TYPE_CHECKING:
    from .student import Student

MIB = 1 << 20
# Right code of all styles takes up to 5 MiB here, copies 128 and more.
ROOM_MIB = 64


@dataclass(frozen=True)
class Needed:
    """What a call needed beside its arguments.

    Attributes:
        result: what it returned; None where it had no room to end.
        mib: its peak in MiB, or the room that was not enough, with `at_least`.
        is_known: whether anything could be measured.
    """

    result: Any
    mib: float
    at_least: bool = False
    is_known: bool = True


def traced(call: Callable[[], Any]) -> Needed:
    """Measure a call in this process."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        return Needed(result, (tracemalloc.get_traced_memory()[1] - before) / MIB)
    finally:
        if not was_tracing:
            tracemalloc.stop()


def check_room(
    student: Student, name: str, small: list[np.ndarray], large: list[np.ndarray], given: str
) -> Any:
    """The result of a call with `large`, which may take no more than ROOM_MIB beside them.

    Args:
        small: arguments of a first call, which loads what is loaded once.
        given: what of the arguments the memory is set against, as in "K and V are 4 MiB".

    Raises:
        Mismatch: it takes more.
    """
    getattr(student, name)(*small)
    needed = student.measured(name, large, ROOM_MIB)
    if not needed.is_known:
        remark(tr("not checked: memory cannot be limited on this machine"))
        return needed.result
    n = math.ceil(needed.mib)
    words = (
        tr("{call} needed more than {n} MiB where {given}", call=name, n=n, given=given)
        if needed.at_least
        else tr("{call} needed {n} MiB where {given}", call=name, n=n, given=given)
    )
    check(not needed.at_least and needed.mib <= ROOM_MIB, words)
    return needed.result
