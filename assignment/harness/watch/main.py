"""The loop: saves, keys and results come in, runs and a new picture go out."""

from __future__ import annotations

import argparse
import queue
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..at_home import unpacked
from ..words import LANGUAGES, language, speak, tr
from .board import Board, saved
from .runs import FOLDER, HAS_FORK, Event, Runs
from .screen import PlainScreen, RichScreen, keys, screen, size
from .touched import ALL, Watcher, is_of_the_tests, parts_touched

# Results come in by dozens; the eye needs no picture of each.
SECONDS_A_PICTURE = 0.1


class Watch:
    """What is to be run, and what is known."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._waiting: list[int] = []
        self._has_code = False
        self.board = Board()
        self.is_over = False

    def begin(self, own: Sequence[int], others: Sequence[int], news: str) -> None:
        """Run the tests of parts that were saved, then of others, then what was interrupted."""
        left = [n for n in self.board.running if n not in own and n not in others]
        self._waiting = [*others, *left]
        self.board.begin([*own, *self._waiting], news)
        self._has_code = False
        self._runs.start(own)

    def run_all(self, news: str) -> None:
        """Every part."""
        self.begin(ALL, (), news)

    def on_saved(self, names: Sequence[str]) -> None:
        if any(is_of_the_tests(name) for name in names):
            self._runs.close()  # it has imported what was there before
        own, others = parts_touched(names, FOLDER)
        if own:
            self.begin(own, others, saved(names))
        else:
            self.board.news = tr("{saved} (no part uses it)", saved=saved(names))

    def on_key(self, key: str) -> None:
        if key in "qQ":
            self.is_over = True
        elif key in "aA":
            self.run_all(tr("all parts"))
        elif key in "hH":
            self.board.next_hint()

    def on_event(self, event: Event) -> None:
        if event["run"] != self._runs.number:
            return  # it was on its way when another run began
        kind, board = event["kind"], self.board
        if kind == "tests":
            board.collected(event["tests"])
        elif kind == "outcome":
            board.add(unpacked(event["outcome"]))
        elif kind == "code":
            self._has_code = True
            if event["code"] not in (0, 1):
                board.trouble = tr("the tests could not be run; try: pytest assignment/")
        elif kind == "broken":
            board.trouble = tr("the tests could not be run: {why}", why=event["why"])
            board.running, self._waiting = [], []
        elif kind == "ended":
            self._on_end()

    def _on_end(self) -> None:
        board = self.board
        if not self._has_code:
            board.trouble = tr("your code ended the process that runs the tests")
            cut_off = [part for part in board.running if part not in self._waiting]
            self._waiting = [*cut_off[1:], *self._waiting]  # the first was under way
        board.running, self._waiting = self._waiting, []
        if board.running:
            self._has_code = False
            self._runs.start(board.running)


def main(arguments: list[str]) -> int:
    """Watch until `q` or Ctrl-C."""
    options = _arguments(arguments)
    speak(options.lang)
    events: queue.Queue[tuple[str, Any]] = queue.Queue()
    runs = Runs(lambda event: events.put(("event", event)), language())
    watcher = Watcher(FOLDER, lambda names: events.put(("saved", names)), options.poll)
    watch = Watch(runs)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that the terminal is put back
    try:
        with screen() as shown, keys(lambda key: events.put(("key", key))):
            watcher.start()
            watch.run_all(_welcome())
            _loop(watch, events, shown)
    except KeyboardInterrupt:
        pass
    finally:
        watcher.stop()
        runs.close()
    run = watch.board.summary
    print(tr("\n{earned:g} of {most:g} points", earned=run.earned(), most=run.most))
    return 0


def _loop(watch: Watch, events: queue.Queue, shown: PlainScreen | RichScreen) -> None:
    handle: dict[str, Callable[[Any], None]]
    handle = {"saved": watch.on_saved, "key": watch.on_key, "event": watch.on_event}
    is_old = True
    while not watch.is_over:
        try:
            kind, content = events.get(timeout=SECONDS_A_PICTURE)
            handle[kind](content)
            is_old = True
            if kind == "event" and content["kind"] == "outcome":
                continue
        except queue.Empty:
            pass
        if is_old and (shown.in_place or not watch.board.running):
            shown.show(watch.board.lines(*size()))
            is_old = False


def _welcome() -> str:
    words = tr("watching {folder}/", folder=FOLDER.name)
    if not HAS_FORK:
        words += tr(" (slower here: each run starts Python anew)")
    return words


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m assignment.watch",
        description="Runs the tests of the parts that each save touches.",
    )
    parser.add_argument("--lang", choices=LANGUAGES, help="language, 语言 (default: the locale's)")
    parser.add_argument("--poll", action="store_true", help="look at the files, without watchfiles")
    return parser.parse_args(arguments)
