"""The terminal: lines that stay in place, and keys without Enter. All is put back at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..words import width
from .board import Line

CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class PlainScreen:
    """Written anew each time; where that is no terminal, one picture below the other."""

    def __init__(self) -> None:
        self.in_place = sys.stdout.isatty()

    def __enter__(self) -> PlainScreen:
        if self.in_place and os.name == "nt":
            os.system("")  # lets an older console know of escape sequences
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def show(self, lines: Sequence[Line]) -> None:
        columns = size()[0] if self.in_place else 0
        text = "\n".join(_cut("".join(piece for piece, _ in pieces), columns) for pieces in lines)
        sys.stdout.write(f"{CLEAR}{text}" if self.in_place else f"{text}\n\n")
        sys.stdout.flush()


class RichScreen:
    """rich's live display on the terminal's other screen."""

    in_place = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(highlight=False), screen=True, auto_refresh=False)

    def __enter__(self) -> RichScreen:
        self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._live.__exit__(*error)

    def show(self, lines: Sequence[Line]) -> None:
        from rich.text import Text

        texts = [Text.assemble(*pieces, no_wrap=True, overflow="ellipsis") for pieces in lines]
        self._live.update(Text("\n", no_wrap=True).join(texts), refresh=True)


def screen() -> PlainScreen | RichScreen:
    """rich's where there is rich and a terminal."""
    with contextlib.suppress(ImportError):
        if sys.stdout.isatty():
            return RichScreen()
    return PlainScreen()


def _cut(text: str, columns: int) -> str:
    """As much as fits in a line, or all where `columns` is 0."""
    if not columns or width(text) <= columns:
        return text
    while width(text) >= columns:
        text = text[:-1]
    return f"{text}…"


def size() -> tuple[int, int]:
    """Columns and rows."""
    found = shutil.get_terminal_size((100, 40))
    return found.columns, found.lines


@contextlib.contextmanager
def keys(tell: Callable[[str], None]) -> Iterator[None]:
    """Hand on each key that is pressed; none where the input is no terminal."""
    if not sys.stdin or not sys.stdin.isatty():
        yield
        return
    with _single_keys() as read:

        def listen() -> None:
            while key := read():
                tell(key)

        threading.Thread(target=listen, daemon=True).start()
        yield


@contextlib.contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """A function that waits for a key, "" at the end; the terminal is put back."""
    try:
        import termios
        import tty
    except ImportError:
        import msvcrt

        yield msvcrt.getwch  # type: ignore[attr-defined]
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)  # Ctrl-C stays Ctrl-C
        yield lambda: os.read(terminal, 1).decode(errors="replace")
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
