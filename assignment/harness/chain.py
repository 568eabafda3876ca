"""Where an exception came from: the student's own lines, from the test's call inwards."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from .parts import GIVEN_FILES, TORCH_MODEL_FILE
from .words import tr

MAX_FRAMES = 3
MAX_VALUES = 5
# That often in one traceback, a function calls itself.
RECURRING = 50

_NOT_THEIRS = (*GIVEN_FILES, TORCH_MODEL_FILE, "conftest.py")  # what a student cannot change
_ARRAYS = ("numpy", "torch")


def is_students(filename: str) -> bool:
    """Whether a line of this file is the student's: of a module beside transformer.py."""
    path = Path(filename)
    if path.name in _NOT_THEIRS or path.name.startswith("test_"):
        return False
    return (path.parent / "transformer.py").exists()


def students_frames(step: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The student's frames of a traceback with their lines, outermost first."""
    return [(frame, line) for frame, line in _walk(step) if is_students(frame.f_code.co_filename)]


def chain(error: BaseException) -> list[str]:
    """A line for each of the student's frames: the first ones and the last, three at most.

    As in `kv_cache.py:31 in prefill: x = model.embed(tokens)   [tokens (2, 5)]`.
    """
    lines = list(dict.fromkeys(map(_line, students_frames(error.__traceback__))))
    if len(lines) > MAX_FRAMES:
        lines = [*lines[: MAX_FRAMES - 1], "…", lines[-1]]
    return lines


def calls_itself(error: BaseException) -> str:
    """The function that a recursion without an end goes through, or ""."""
    frames = students_frames(error.__traceback__)
    names = Counter(frame.f_code.co_name for frame, _ in frames)
    name, times = max(names.items(), key=lambda item: item[1], default=("", 0))
    return name if times >= RECURRING else ""


def ended_early(error: BaseException) -> str:
    """What SystemExit, KeyboardInterrupt and RecursionError are, in words; "" for others."""
    if isinstance(error, SystemExit):
        return tr("the code ends the program: sys.exit, exit or quit is called")
    if isinstance(error, KeyboardInterrupt):
        return tr("the code raises KeyboardInterrupt, as Ctrl-C does; nobody pressed it")
    if isinstance(error, RecursionError) and (name := calls_itself(error)):
        return tr("RecursionError: {name} calls itself, or its caller, without an end", name=name)
    return ""


def _walk(step: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while step is not None:
        yield step.tb_frame, step.tb_lineno
        step = step.tb_next


def _line(place: tuple[FrameType, int]) -> str:
    frame, number = place
    code = frame.f_code
    [summary] = traceback.StackSummary.extract([(frame, number)])
    text = summary.line or ""
    return f"{Path(code.co_filename).name}:{number} in {code.co_name}: {text}{_shapes(frame, text)}"


def _shapes(frame: FrameType, text: str) -> str:
    """The shapes of the arrays that a line names."""
    names = dict.fromkeys(re.findall(r"(?<![.\w])[A-Za-z_]\w*", text))
    arrays = [(name, frame.f_locals[name]) for name in names if name in frame.f_locals]
    found = [f"{name} {tuple(x.shape)}" for name, x in arrays if _is_array(x)][:MAX_VALUES]
    return f"   [{', '.join(found)}]" if found else ""


def _is_array(value: Any) -> bool:
    module = type(value).__module__.partition(".")[0]
    return module in _ARRAYS and isinstance(getattr(value, "shape", None), tuple)
