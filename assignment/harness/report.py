"""What a student sees: a line a part as it finishes, then the first failures in full."""

from __future__ import annotations

import os
from typing import Any

import pytest

from . import told
from .at_home import AtHome
from .diagnosis import Diagnosis
from .outcome import FAILED, PASSED, Outcome
from .parts import PART_BY_NUMBER
from .summary import Summary
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

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        part = _part_of(item)
        if nextitem is None or _part_of(nextitem) != part:
            self._finished_part = part

    def pytest_runtest_logfinish(self) -> None:
        """Write here, where pytest captures no output."""
        if self._finished_part is not None:
            # It has ended, whatever is left of others.
            self._write_part(self._finished_part, Summary(self._home.outcomes))
            self._finished_part = None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self) -> None:
        run = self._home.summary
        if not run.outcomes and run.whole:
            self._line(tr("\nNo test was selected. Try: pytest assignment/ -k part4, or -k rope"))
            return
        # Those of a run that was stopped, or that had several processes.
        if late := [part for part in run.parts if part not in self._written]:
            for part in late:
                self._write_part(part, run)
            self._line("")
        margin = " " * (width(tr("Part {part}", part=1)) + 2)
        total = f"{run.earned():>{BAR_WIDTH + 6}g} / {run.most:g}"
        self._line(f"{margin}{pad(tr('Total'), 33)}{total}", bold=True)
        if not run.whole:
            self._line(
                tr(
                    "\nStopped early: {n} tests have not run, and the table holds those that have",
                    n=self._home.n_left,
                )
            )
        self._write_diagnoses(run)
        self._write_failures(run)
        self._write_remarks(run)
        self._write_next_step(run)

    def _write_part(self, number: int, run: Summary) -> None:
        if not self._written:
            title = tr("\nAttention and KV-cache decode ({package})\n", package=self._package)
            self._line(title, bold=True)
        self._written.add(number)
        outcomes = run.of_part(number)
        earned, total = run.earned(outcomes), sum(o.grading.points for o in outcomes)
        done = all(o.state == PASSED for o in outcomes)
        failed = any(o.state == FAILED for o in outcomes)
        colour = {"green": True} if done else {"red": True} if failed else {"yellow": True}
        title = f"{tr('Part {part}', part=number)}  {spoken(PART_BY_NUMBER[number].title)}"
        title = pad(title, width(tr("Part {part}", part=1)) + 34)  # one column for parts 1 and 11
        points = f"{bar_of(earned, total)} {earned:>4g} / {total:<4g}"
        self._line(f"{title} {points} {run.state_of(number)}", **colour)

    def _write_diagnoses(self, run: Summary) -> None:
        """Which known bug computes the same, for each part that has wrong arrays."""
        if run.unexplained_part is not None:
            self._line(f"\n{told.no_match(run.unexplained_part)}")
        for finding in run.findings:
            if not finding.mend_first:
                self._write_finding(finding)
        for first in dict.fromkeys(f.mend_first for f in run.findings if f.mend_first):
            parts = [finding.part for finding in run.findings if finding.mend_first == first]
            self._line(f"\n{told.mend_first(parts, first)}", bold=True)

    def _write_finding(self, finding: Diagnosis) -> None:
        self._line(f"\n{told.fact(finding)}", bold=True)
        if not finding.alternatives:
            return
        name = finding.alternatives[0][0]
        for line in wrap(told.explanation(name), 96):
            self._line(f"    {line}")
        self._line(tr("    hints: pytest assignment/ --hint {name}", name=name))

    def _write_failures(self, run: Summary) -> None:
        shown = run.first_of_each_section[:SHOWN_IN_FULL]
        for outcome in shown:
            self._line("")
            self._line(f"✗ {outcome.grading.section}  {outcome.grading.spoken_title}", red=True)
            for line in outcome.message.splitlines()[:MAX_LINES_OF_A_FAILURE]:
                self._line(f"    {line}")
            if waiting := run.held_by(outcome):
                self._line(f"    {told.held(waiting)}")
            self._write_arrays(outcome)
            if outcome.printed:
                self._line(tr("    it printed:"))
                for line in outcome.printed.splitlines():
                    self._line(f"    | {line}")
            self._write_command(outcome.test)
        rest = [o for o in run.failures if o not in shown]
        if rest:
            self._line(tr("\nand {n} more, to look at after these:", n=len(rest)))
            for outcome in rest[:5]:
                self._line(f"  ✗ {outcome.grading.section}  {outcome.grading.spoken_title}")
            if len(rest) > 5:
                self._line(tr("  … (pytest -v shows all of them)"))
        if n_alike := len(run.all_failures) - len(run.failures):
            self._line(
                tr_n(
                    n_alike,
                    "\n1 more failure: the same tests on other inputs, or the same words",
                    "\n{n} more failures: the same tests on other inputs, or the same words",
                )
            )

    def _write_remarks(self, run: Summary) -> None:
        for words, outcome in run.remarks.items():
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
        command = run_alone(self._config, self._package, test)
        self._line(tr("    run it alone: {command}", command=command))

    def _write_next_step(self, run: Summary) -> None:
        if needs := run.next_stub:
            self._line(f"\n{told.next_step(needs)}")

    def _line(self, text: str, **style: bool) -> None:
        self._terminal.write_line(text, **style)


def bar_of(earned: float, total: float) -> str:
    """A part's points as a bar."""
    filled = int(BAR_WIDTH * earned / total) if total else 0
    return "█" * filled + "·" * (BAR_WIDTH - filled)


def run_alone(config: pytest.Config, package: str, test: str) -> str:
    """How to run one test: by a path from where pytest was called, or on a notebook's cells."""
    file, _, name = test.partition("[")[0].partition("::")
    if package == NOTEBOOK:
        return f"%run -i run_tests.py {name}"
    path, here = config.rootpath / file, config.invocation_params.dir
    shown = os.path.relpath(path, here) if path.drive == here.drive else path
    return f"pytest {shown}::{name}"


def _part_of(item: pytest.Item) -> int | None:
    mark = item.get_closest_marker("graded")
    return int(mark.args[0].split(".")[0]) if mark else None
