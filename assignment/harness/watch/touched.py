"""Which files were saved, and which parts' tests that touches."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..known_bugs import StoredSignatures
from ..parts import GIVEN_FILES, PARTS, TORCH_MODEL_FILE, TORCH_PART

Snapshot = dict[str, tuple[int, int]]

POLL_SECONDS = 0.2
# A save may come in several steps: empty, half, whole; or deleted and made anew.
SETTLE_SECONDS, MAX_SETTLE_SECONDS = 0.04, 1.0
_NOT_WATCHED = {"__pycache__", "golden", "figures"}
_EXTRA = {f"{TORCH_PART.module}.py", TORCH_MODEL_FILE}  # has its own command, and takes long
ALL = tuple(part.number for part in PARTS)


def snapshot(folder: Path) -> Snapshot:
    """Time and size of each Python file of the homework, by its path below the folder."""
    found = {}
    for path in folder.rglob("*.py"):
        name = path.relative_to(folder)
        if any(piece in _NOT_WATCHED or piece.startswith(".") for piece in name.parts):
            continue
        try:
            status = path.stat()
        except OSError:  # deleted meanwhile
            continue
        found[name.as_posix()] = (status.st_mtime_ns, status.st_size)
    return found


def changed(before: Snapshot, now: Snapshot) -> list[str]:
    """Files that were written, made or deleted in between."""
    names = {*before, *now} - _EXTRA
    return sorted(name for name in names if before.get(name) != now.get(name))


def is_of_the_tests(name: str) -> bool:
    """Whether a file is one that is loaded before any of the student's."""
    return name.startswith(("harness/", "test_")) or name == "conftest.py"


def parts_touched(names: Iterable[str], folder: Path) -> tuple[list[int], list[int]]:
    """The parts whose own code changed, and others that use them."""
    names = list(names)
    if any(is_of_the_tests(name) or name in GIVEN_FILES for name in names):
        return list(ALL), []
    modules = _with_users({Path(name).stem for name in names}, folder)
    own = [part.number for part in PARTS if part.module in modules]
    return own, [n for n in ALL if n not in own and _uses(n) & set(own)]


def _uses(part: int) -> frozenset[int]:
    return StoredSignatures().reached_by(part)


def _with_users(modules: set[str], folder: Path) -> set[str]:
    """These modules and all that name them: a helper's change is one of the modules it helps."""
    own = {part.module for part in PARTS}
    texts = {path.stem: _text(path) for path in folder.glob("*.py")}
    found, new = set(modules), modules - own
    while new:
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, new))})\b")
        users = {stem for stem, text in texts.items() if pattern.search(text)} - found
        users = {stem for stem in users if f"{stem}.py" not in (*GIVEN_FILES, "conftest.py")}
        found |= users
        new = users - own
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class Watcher(threading.Thread):
    """Calls `tell` with the names of saved files, once they are settled."""

    def __init__(self, folder: Path, tell: Callable[[list[str]], None], poll: bool = False) -> None:
        super().__init__(daemon=True)
        self._folder, self._tell, self._poll = folder, tell, poll
        self._over = threading.Event()
        self._seen = snapshot(folder)

    def run(self) -> None:
        for _ in self._wake_ups():
            now = snapshot(self._folder)
            if now == self._seen:
                continue
            now = self._settled(now)
            names = changed(self._seen, now)
            self._seen = now
            if names:
                self._tell(names)

    def stop(self) -> None:
        """End within a moment."""
        self._over.set()

    def _settled(self, now: Snapshot) -> Snapshot:
        until = time.monotonic() + MAX_SETTLE_SECONDS
        while time.monotonic() < until:
            time.sleep(SETTLE_SECONDS)
            then, now = now, snapshot(self._folder)
            if now == then:
                break
        return now

    def _wake_ups(self) -> Iterable[object]:
        """Whenever something may have changed: the system says so, or some time has passed."""
        try:
            if self._poll:
                raise ImportError
            import watchfiles
        except ImportError:
            return iter(lambda: self._over.wait(POLL_SECONDS), True)
        return watchfiles.watch(
            self._folder,
            watch_filter=None,
            debounce=50,
            step=10,
            rust_timeout=500,
            yield_on_timeout=True,
            stop_event=self._over,
            raise_interrupt=False,
        )
