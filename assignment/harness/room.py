"""Is there room for the call? By the memory it takes, copies of K and V are told.

At home numpy's allocations are counted. In grading the call runs where the address space may grow
by so much and no more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compare import check
from .remarks import remark
from .student import Student
from .words import tr

# Right code of all styles takes up to 5 MiB here, copies 128 and more.
ROOM_MIB = 64


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
