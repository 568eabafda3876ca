"""What a student sees: a line a part as it finishes, then the first failures in full."""

from __future__ import annotations

import os
from typing import Any

import pytest

from . import told
from .at_home import AtHome
from .diagnosis import (
    NOT_COMPARED,
    UNREACHED,
    Diagnosis,
    Observation,
    Seen,
    diagnose,
    print_of,
)
from .known_bugs import StoredSignatures
from .outcome import FAILED, NOT_STARTED, PASSED, WAITING, Outcome
from .parts import PART_BY_NUMBER
from .points import Ran, hanging
from .words import pad, spoken, tr, tr_n, width, wrap

SHOWN_IN_FULL = 3
MAX_LINES_OF_A_FAILURE = 12
BAR_WIDTH = 12
NOTEBOOK = "notebook"  # in the place of a package: the functions are those of cells


class Report:
    """Replaces pytest's dots and tracebacks, unless `-v` asks for those."""

    def __init__(self, config: pytest.Config, package: str, home: AtHome) -> None:
        self._config = config
        self._terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._package = package
        self._home = home
        self._finished_part: int | None = None
        self._written: set[int] = set()

    @classmethod
    def install(cls, config: pytest.Config, package: str, home: AtHome) -> None:
        """Take over the terminal of a student's run."""
        if config.option.verbose > 0 or config.option.collectonly:
            return
        if not config.pluginmanager.hasplugin("terminalreporter"):
            return
        config.option.verbose = -2
        config.option.tbstyle = "no"
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        # Not option.no_summary: before pytest 9.2 that leaves out our own summary too.
        terminal.reportchars = ""
        terminal._show_progress_info = False  # pytest 8.1 and 8.2 would end the table with [100%]
        config.pluginmanager.register(cls(config, package, home), "homework-report")

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        category = report.outcome if report.when == "call" or not report.passed else ""
        return category, "", ""

    @property
    def _outcomes(self) -> list[Outcome]:
        return self._home.outcomes

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        part = _part_of(item)
        if nextitem is None or _part_of(nextitem) != part:
            self._finished_part = part

    def pytest_runtest_logfinish(self) -> None:
        """Write here, where pytest captures no output."""
        if self._finished_part is not None:
            self._write_part(self._finished_part)
            self._finished_part = None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self) -> None:
        if not self._outcomes and not self._home.n_left:
            self._line(tr("\nNo test was selected. Try: pytest assignment/ -k part4, or -k rope"))
            return
        # Those of a run that was stopped, or that had several processes.
        parts = dict.fromkeys(o.grading.part for o in self._outcomes)
        if late := [part for part in parts if part not in self._written]:
            for part in late:
                self._write_part(part, whole=not self._home.n_left)
            self._line("")
        earned = self._earned(self._outcomes)
        total = sum(o.grading.points for o in self._outcomes)
        margin = " " * (width(tr("Part {part}", part=1)) + 2)
        line = f"{margin}{pad(tr('Total'), 33)}{earned:>{BAR_WIDTH + 6}g} / {total:g}"
        self._line(line, bold=True)
        if self._home.n_left:
            self._line(
                tr(
                    "\nStopped early: {n} tests have not run, and the table holds those that have",
                    n=self._home.n_left,
                )
            )
        self._write_diagnoses()
        self._write_failures()
        self._write_remarks()
        self._write_next_step()

    def _write_part(self, number: int, whole: bool = True) -> None:
        """`whole`: all of its tests have run."""
        if not self._written:
            title = tr("\nAttention and KV-cache decode ({package})\n", package=self._package)
            self._line(title, bold=True)
        self._written.add(number)
        outcomes = [o for o in self._outcomes if o.grading.part == number]
        earned = self._earned(outcomes)
        total = sum(o.grading.points for o in outcomes)
        filled = int(BAR_WIDTH * earned / total) if total else 0
        bar = "█" * filled + "·" * (BAR_WIDTH - filled)
        done = all(o.state == PASSED for o in outcomes)
        failed = any(o.state == FAILED for o in outcomes)
        colour = {"green": True} if done else {"red": True} if failed else {"yellow": True}
        title = f"{tr('Part {part}', part=number)}  {spoken(PART_BY_NUMBER[number].title)}"
        title = pad(title, width(tr("Part {part}", part=1)) + 34)  # one column for parts 1 and 11
        state = self._state_of(outcomes, whole)
        self._line(f"{title} {bar} {earned:>4g} / {total:<4g} {state}", **colour)

    def _hanging(self) -> dict[str, Outcome]:
        """Tests that pay nothing until another is right, by id, and that other one."""
        by_id = {o.test: o for o in self._outcomes}
        ended = [o for o in self._outcomes if o.state in (PASSED, FAILED)]
        ran = [Ran(o.test, o.grading, o.state == PASSED) for o in ended]
        return {test: by_id[needed.test] for test, needed in hanging(ran).items()}

    def _earned(self, outcomes: list[Outcome]) -> float:
        hanging_ = self._hanging()
        return sum(o.points for o in outcomes if o.test not in hanging_)

    def _state_of(self, outcomes: list[Outcome], whole: bool) -> str:
        done = all(o.state == PASSED for o in outcomes)
        state = tr("right so far") if done and not whole else _state_of_part(outcomes)
        held = self._hanging()
        waiting = [o for o in outcomes if o.state == PASSED and o.test in held]
        if not waiting:
            return state
        return state + tr(
            "; {points:g} points: 0 until {section} is right",
            points=sum(o.points for o in waiting),
            section=held[waiting[0].test].grading.section,
        )

    def _write_diagnoses(self) -> None:
        """Which known bug computes the same, for each part that has wrong arrays."""
        signatures = StoredSignatures()
        observations = [_observation(outcome, signatures) for outcome in self._outcomes]
        findings = diagnose(observations, signatures)
        waiting = {finding.part for finding in findings if finding.mend_first}
        wrong = {o.part for o in observations if isinstance(o.seen, tuple)} - waiting
        if wrong and not any(not finding.mend_first for finding in findings):
            self._line(f"\n{told.no_match(min(wrong))}")
        for finding in findings:
            if not finding.mend_first:
                self._write_finding(finding)
        for first in dict.fromkeys(f.mend_first for f in findings if f.mend_first):
            parts = [finding.part for finding in findings if finding.mend_first == first]
            self._line(f"\n{told.mend_first(parts, first)}", bold=True)

    def _write_finding(self, finding: Diagnosis) -> None:
        self._line(f"\n{told.fact(finding)}", bold=True)
        if not finding.alternatives:
            return
        name = finding.alternatives[0][0]
        for line in wrap(told.explanation(name), 96):
            self._line(f"    {line}")
        self._line(tr("    hints: pytest assignment/ --hint {name}", name=name))

    def _write_failures(self) -> None:
        held = self._hanging()
        all_failures = [o for o in self._outcomes if o.state == FAILED and o.test not in held]
        failures = _distinct(all_failures)
        shown = _first_of_each_section(failures)[:SHOWN_IN_FULL]
        for outcome in shown:
            self._line("")
            self._line(f"✗ {outcome.grading.section}  {outcome.grading.spoken_title}", red=True)
            for line in outcome.message.splitlines()[:MAX_LINES_OF_A_FAILURE]:
                self._line(f"    {line}")
            waiting = [o for o in self._outcomes if held.get(o.test) is outcome]
            if waiting:
                n, points = len(waiting), sum(o.grading.points for o in waiting)
                self._line(
                    tr_n(
                        n,
                        "    until this is right, 1 more test pays nothing ({points:g} points)",
                        "    until this is right, {n} more tests pay nothing ({points:g} points)",
                        points=points,
                    )
                )
            self._write_arrays(outcome)
            if outcome.printed:
                self._line(tr("    it printed:"))
                for line in outcome.printed.splitlines():
                    self._line(f"    | {line}")
            self._write_command(outcome.test)
        rest = [o for o in failures if o not in shown]
        if rest:
            self._line(tr("\nand {n} more, to look at after these:", n=len(rest)))
            for outcome in rest[:5]:
                self._line(f"  ✗ {outcome.grading.section}  {outcome.grading.spoken_title}")
            if len(rest) > 5:
                self._line(tr("  … (pytest -v shows all of them)"))
        n_alike = len(all_failures) - len(failures)
        if n_alike:
            self._line(
                tr_n(
                    n_alike,
                    "\n1 more failure: the same tests on other inputs, or the same words",
                    "\n{n} more failures: the same tests on other inputs, or the same words",
                )
            )

    def _write_remarks(self) -> None:
        """What is to be said of right code, each once."""
        told: dict[str, Outcome] = {}
        for outcome in self._outcomes:
            if outcome.state == PASSED and outcome.message:
                told.setdefault(outcome.message, outcome)
        for words, outcome in told.items():
            section, title = outcome.grading.section, outcome.grading.spoken_title
            self._line(
                tr("\nRight, with a remark: {section}  {title}", section=section, title=title)
            )
            for line in words.splitlines():
                self._line(f"    {line}")

    def _write_arrays(self, outcome: Outcome) -> None:
        """Small arrays whole, wrong entries with a star and in red."""
        for cells in outcome.side_by_side.lines() if outcome.side_by_side else []:
            self._terminal.write("   ")
            for cell in cells:
                self._terminal.write(cell.text, red=cell.wrong)
            self._line("")

    def _write_command(self, test: str) -> None:
        """How to run one test: by a path from where pytest was called, or on a notebook's cells."""
        file, _, name = test.partition("[")[0].partition("::")
        if self._package == NOTEBOOK:
            self._line(tr("    run it alone: %run -i run_tests.py {test}", test=name))
            return
        path = self._config.rootpath / file
        here = self._config.invocation_params.dir
        shown = os.path.relpath(path, here) if path.drive == here.drive else path
        self._line(tr("    run it alone: pytest {test}", test=f"{shown}::{name}"))

    def _write_next_step(self) -> None:
        todo = next((o for o in self._outcomes if o.state == NOT_STARTED), None)
        if todo and not any(o.state == FAILED for o in self._outcomes):
            section = todo.needs.split()[0]
            self._line(
                tr(
                    "\nNext: {needs} (assignment/README.md §{section})",
                    needs=todo.needs,
                    section=section,
                )
            )

    def _line(self, text: str, **style: bool) -> None:
        self._terminal.write_line(text, **style)


def _observation(outcome: Outcome, signatures: StoredSignatures) -> Observation:
    test, part = outcome.test.rpartition("/")[2], outcome.grading.part
    return Observation(test, part, _seen(outcome, test in signatures.tests_of(part)))


def _seen(outcome: Outcome, is_compared: bool) -> Seen:
    if outcome.state == FAILED:
        return print_of(outcome.got) if is_compared else NOT_COMPARED
    return PASSED if outcome.state == PASSED else UNREACHED


def _state_of_part(outcomes: list[Outcome]) -> str:
    n_failed = sum(o.state == FAILED for o in outcomes)
    if n_failed:
        return tr("{n} failed", n=n_failed)
    for state in (NOT_STARTED, WAITING):
        first = next((o for o in outcomes if o.state == state), None)
        if first is None:
            continue
        if state == NOT_STARTED and not any(o.state == PASSED for o in outcomes):
            return tr("not started")
        if state == NOT_STARTED:
            return tr("next: {needs}", needs=first.needs)
        return tr("waiting for {needs}", needs=first.needs)
    return tr("done")


def _distinct(failures: list[Outcome]) -> list[Outcome]:
    """One failure for each test and each message: the same fault is not told twice."""
    by_test = {o.test.partition("[")[0]: o for o in reversed(failures)}
    by_message = {o.message: o for o in by_test.values()}
    return [o for o in failures if by_message.get(o.message) is o]


def _first_of_each_section(failures: list[Outcome]) -> list[Outcome]:
    """A function's first failure tells the most; the next to read is another function's."""
    by_section = {o.grading.section: o for o in reversed(failures)}
    return [o for o in failures if by_section[o.grading.section] is o]


def _part_of(item: pytest.Item) -> int | None:
    mark = item.get_closest_marker("graded")
    return int(mark.args[0].split(".")[0]) if mark else None
