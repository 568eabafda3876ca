"""What the screen shows: the table, the newest failure in full, the others by their titles."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .. import told
from ..hints import LEVELS, hints_on
from ..outcome import FAILED, PASSED, Outcome
from ..parts import PART_BY_NUMBER, PARTS
from ..report import bar_of
from ..summary import Summary
from ..words import pad, plain, spoken, tr, tr_n, width, wrap

Line = list[tuple[str, str]]  # pieces of text, each with its style

MAX_LINES_OF_A_FAILURE = 16
MAX_TITLES = 8
# In a window of fewer rows the parts that are done are left out.
LOW = 32
TITLE_COLUMNS = 44


def line(text: str = "", style: str = "") -> Line:
    """One piece."""
    return [(plain(text), style)]


@dataclass
class Board:
    """Keeps the last outcome of each test.

    Attributes:
        news: one line on what happened last.
        trouble: why there is nothing new, in place of an outcome.
        running: parts whose tests are under way or waited for.
    """

    news: str = ""
    trouble: str = ""
    running: list[int] = field(default_factory=list)
    _outcomes: dict[str, Outcome] = field(default_factory=dict)
    _order: dict[int, list[str]] = field(default_factory=dict)
    _left: dict[int, set[str]] = field(default_factory=dict)
    _news_of: dict[str, int] = field(default_factory=dict)
    _run: int = 0
    _hint_level: int = 0
    _hint_part: int = 0

    def begin(self, parts: Sequence[int], news: str) -> None:
        """A run of these parts begins."""
        self._run += 1
        self.running, self.news, self.trouble = list(parts), news, ""

    def collected(self, tests: Iterable[str]) -> None:
        """The tests that will run; those of the same parts that are no more are forgotten."""
        by_part: dict[int, list[str]] = {}
        for test in tests:
            by_part.setdefault(_part_of(test), []).append(test)
        self._order |= by_part
        self._left |= {part: set(tests) for part, tests in by_part.items()}
        known = {test for tests in self._order.values() for test in tests}
        self._outcomes = {t: outcome for t, outcome in self._outcomes.items() if t in known}

    def add(self, outcome: Outcome) -> None:
        """What became of a test."""
        before = self._outcomes.get(outcome.test)
        self._outcomes[outcome.test] = outcome
        if before is None or before.message != outcome.message:
            self._news_of[outcome.test] = self._run
        part = outcome.grading.part
        left = self._left.setdefault(part, set())
        left.discard(outcome.test)
        if not left and part in self.running:
            self.running.remove(part)

    @property
    def summary(self) -> Summary:
        """Of all that is known, in the order of the parts."""
        order = [test for part in PARTS for test in self._order.get(part.number, ())]
        return Summary([self._outcomes[test] for test in order if test in self._outcomes])

    def failures(self, run: Summary) -> list[Outcome]:
        """Those that said something new last come first; a function's first before its others."""
        first = run.first_of_each_section
        rest = [outcome for outcome in run.failures if outcome not in first]
        return sorted([*first, *rest], key=lambda o: -self._news_of[o.test])

    def next_hint(self) -> None:
        """Show one hint more on what is shown in full."""
        part = self._part(self.summary)
        self._hint_level = min(self._hint_level + 1, LEVELS) if part == self._hint_part else 1
        self._hint_part = part

    # ------------------------------------------------------------------------------------- lines

    def lines(self, columns: int, rows: int) -> list[Line]:
        """What fits."""
        run = self.summary
        head = [line(self.news, "dim"), line(), *self._table(run, rows < LOW), line()]
        keys = line(tr("h: next hint   a: run all   q: quit"), "dim")
        room = max(rows - len(head) - 2, 3)
        body = self._body(run, columns, room)
        if len(body) > room:
            body = [*body[: room - 1], line("…", "dim")]
        return [*head, *body, line(), keys]

    def _table(self, run: Summary, only_open: bool) -> list[Line]:
        """All parts, or those that are not done."""
        closed = {part for part in run.parts if _is_done(run.of_part(part))} - {*self.running}
        left_out = closed if only_open else set()
        rows = [self._row(run, part.number) for part in PARTS if part.number not in left_out]
        total = f"{run.earned():>{len(bar_of(0, 1)) + 5}g} / {run.most:g}"
        return [*rows, line(f"{pad('  ' + tr('Total'), TITLE_COLUMNS)} {total}", "bold")]

    def _row(self, run: Summary, number: int) -> Line:
        outcomes = run.of_part(number)
        name = f"{tr('Part {part}', part=number)}  {spoken(PART_BY_NUMBER[number].title)}"
        title = pad(f"{'▸' if number in self.running else ' '} {name}", TITLE_COLUMNS)
        if not outcomes:
            return line(title, "dim")
        earned, total = run.earned(outcomes), sum(o.grading.points for o in outcomes)
        text = f"{title} {bar_of(earned, total)} {earned:>4g} / {total:<4g} {run.state_of(number)}"
        return line(text, _style(outcomes))

    def _body(self, run: Summary, columns: int, room: int) -> list[Line]:
        if self.trouble:
            return [line(text, "red") for text in _wrapped(self.trouble, columns)]
        failures = self.failures(run)
        if failures:
            return self._failures(run, failures, columns, room)
        if run.next_stub:
            return [line(told.next_step(run.next_stub)), *self._hint(run, columns)]
        done = bool(run.outcomes) and not self.running
        return [line(tr("Every test passed."), "green")] if done else []

    def _failures(
        self, run: Summary, failures: list[Outcome], columns: int, room: int
    ) -> list[Line]:
        first, *rest = failures
        broken = first.import_failure  # it fails every test that needs the file
        heading = line(f"✗ {broken.file if broken else _title(first)}", "red bold")
        help_ = self._finding(run, first.grading.part, columns)
        help_ += [] if broken else self._hint(run, columns)
        message = _message(first, columns)[: max(room - len(help_) - 2, 3)]
        found = [heading, *message, *help_]
        if rest:
            found += [line(), line(tr_n(len(rest), "1 more failure:", "{n} more failures:"))]
        found += [line(f"  ✗ {_title(outcome)}") for outcome in rest[:MAX_TITLES]]
        return found + ([line("  …", "dim")] if len(rest) > MAX_TITLES else [])

    def _finding(self, run: Summary, part: int, columns: int) -> list[Line]:
        """What is known of the part of the failure that is shown."""
        facts = [told.fact(found) for found in run.findings if found.part == part]
        return [line(text, "bold") for fact in facts for text in _wrapped(fact, columns)]

    def _hint(self, run: Summary, columns: int) -> list[Line]:
        if self._part(run) != self._hint_part:
            return []
        title, texts = hints_on(self._topic(run))
        level = self._hint_level
        heading = tr("{title}, hint {level} of {levels}", title=title, level=level, levels=LEVELS)
        words = _wrapped(texts[level - 1].spoken, min(columns - 4, 96))
        return [line(), line(heading, "yellow"), *(line(f"    {text}") for text in words)]

    def _topic(self, run: Summary) -> str:
        """A known bug's name where there is one, else the part."""
        part = self._part(run)
        names = [f.alternatives[0][0] for f in run.findings if f.part == part and f.alternatives]
        return names[0] if names else f"part{part}"

    def _part(self, run: Summary) -> int:
        """The part of the failure that is shown, or of the stub that comes next."""
        failures = self.failures(run)
        return failures[0].grading.part if failures else int((run.next_stub or "1").split(".")[0])


def _message(failure: Outcome, columns: int) -> list[Line]:
    """What is wrong, small arrays, and what was printed."""
    found = []
    for text in failure.message.splitlines()[:MAX_LINES_OF_A_FAILURE]:
        found += [line(f"    {part}") for part in _wrapped(text, columns - 4)]
    for cells in failure.side_by_side.lines() if failure.side_by_side else []:
        wrong = [(plain(cell.text), "red" if cell.wrong else "") for cell in cells]
        found.append([("   ", ""), *wrong])
    if failure.printed:
        found.append(line(tr("    it printed:")))
        found += [line(f"    | {text}") for text in failure.printed.splitlines()]
    return found


def saved(names: Sequence[str]) -> str:
    """The news of a save."""
    return tr("{time}  saved: {files}", time=time.strftime("%H:%M:%S"), files=", ".join(names))


def _title(outcome: Outcome) -> str:
    return f"{outcome.grading.section}  {outcome.grading.spoken_title}"


def _is_done(outcomes: Sequence[Outcome]) -> bool:
    return all(outcome.state == PASSED for outcome in outcomes)


def _style(outcomes: Sequence[Outcome]) -> str:
    if _is_done(outcomes):
        return "green"
    return "red" if any(outcome.state == FAILED for outcome in outcomes) else "yellow"


def _part_of(test: str) -> int:
    return int(test.rpartition("test_part")[2].partition("_")[0])


def _wrapped(text: str, columns: int) -> list[str]:
    return [text] if width(text) <= columns else wrap(text, columns)
