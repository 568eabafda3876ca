"""`pytest assignment/ --page`: what a run at home has to say, as a page to look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from .. import told
from ..at_home import AtHome
from ..known_bugs import known_bugs
from ..outcome import NOT_STARTED, PASSED, WAITING, Outcome
from ..parts import PART_BY_NUMBER
from ..real_text import ModelText, text_at_home
from ..report import run_alone
from ..student import Backend, Student
from ..summary import Summary
from ..words import spoken, tr
from .document import document, heading
from .markup import element
from .sections import (
    Failure,
    Finding,
    PartFeedback,
    PartRow,
    TestRow,
    all_tests,
    muted,
    percent,
    points,
    points_by_part,
    right_with_a_remark,
    what_the_model_writes,
    where_points_were_lost,
)

FILE = "homework.html"
# The real model runs on these parts' functions.
TEXT_PARTS = {4, 5}
Command = Callable[[str], str]


class PageWriter:
    """A pytest plugin that writes the page after the run, into the folder of the call."""

    def __init__(self, config: pytest.Config, package: str, home: AtHome, backend: Backend) -> None:
        self._config, self._package, self._home, self._backend = config, package, home, backend

    @pytest.hookimpl(wrapper=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, None, None]:
        yield
        run = self._home.summary
        if not run.outcomes:
            return
        path = self._config.invocation_params.dir / FILE
        html = own_page(run, self._package, self._command, self._text(run))
        try:
            path.write_text(html, encoding="utf-8", newline="\n")
        except OSError as problem:
            words = tr("{file} could not be written: {why}", file=FILE, why=problem.strerror)
            terminalreporter.write_line(f"\n{words}", red=True)
            return
        terminalreporter.write_line(tr("\nPage: {address}", address=path.as_uri()))

    def _command(self, test: str) -> str:
        return run_alone(self._config, self._package, test)

    def _text(self, run: Summary) -> ModelText | None:
        student = Student(self._backend)
        return text_at_home(student, self._home.limit.test) if _has_text(run) else None


def _has_text(run: Summary) -> bool:
    """Whether there is a loop to let the model run on."""
    unreached = {o.grading.part for o in run.outcomes if o.state in (NOT_STARTED, WAITING)}
    return set(run.parts) - unreached >= TEXT_PARTS


def own_page(run: Summary, package: str, command: Command, text: ModelText | None) -> str:
    """The HTML of the page.

    Args:
        command: what runs a test alone, by its id.
    """
    rows = [_row(run, number) for number in run.parts]
    feedback = [part for row in rows if (part := _feedback(run, row, command))]
    remarks = [
        f"{o.grading.section} {o.grading.spoken_title}: {words}" for words, o in run.remarks.items()
    ]
    passed = all(outcome.state == PASSED for outcome in run.outcomes)
    title = tr("Attention and KV-cache decode")
    caption = tr("Tests passed on public cases. Grading has hidden ones too.")
    return document(
        title,
        heading(tr("Your own run of the tests · {package}", package=package), title),
        _score(run),
        points_by_part(rows, with_legend=False),
        element("p", tr("Every test passed."), class_="after") if passed else None,
        where_points_were_lost(feedback) if feedback else None,
        right_with_a_remark(remarks) if remarks else None,
        what_the_model_writes(text) if text else None,
        all_tests(_test_rows(run), caption, shows_hidden=False),
        element("footer", _footer()),
    )


def _score(run: Summary) -> list:
    figure = element("span", points(run.earned()), class_="figure")
    of = element("span", tr("of {most} points", most=points(run.most)), class_="of")
    found = [element("p", figure, " ", of, class_="score")]
    if needs := run.next_stub:
        found.append(muted(told.next_step(needs)))
    if not run.whole:
        found.append(muted(tr("The run was stopped early: not all tests have run.")))
    return found


def _footer() -> str:
    return tr(
        "Written at {moment} by pytest assignment/ --page. This page is complete in itself and "
        "loads nothing.",
        moment=time.strftime("%Y-%m-%d %H:%M"),
    )


def _row(run: Summary, number: int) -> PartRow:
    outcomes = run.of_part(number)
    earned, most = run.earned(outcomes), sum(o.grading.points for o in outcomes)
    done = all(o.state == PASSED for o in outcomes)
    return PartRow(
        number,
        spoken(PART_BY_NUMBER[number].title),
        earned,
        most,
        percent(earned, most),
        remark="" if done else run.state_of(number),
    )


def _feedback(run: Summary, row: PartRow, command: Command) -> PartFeedback:
    findings = [
        Finding(told.fact(found), _certain(found.alternatives))
        for found in run.findings
        if found.part == row.number
    ]
    if run.unexplained_part == row.number:
        findings.append(Finding(told.no_match(row.number)))
    first = run.first_of_each_section
    failures = [o for o in (*first, *run.failures) if o.grading.part == row.number]
    return PartFeedback(
        row,
        tuple(findings),
        tuple(_failure(run, outcome, command) for outcome in _each_once(failures)),
    )


def _each_once(outcomes: list[Outcome]) -> list[Outcome]:
    return list({outcome.test: outcome for outcome in outcomes}.values())


def _certain(alternatives: tuple[tuple[str, ...], ...]) -> tuple:
    """Only a certain finding is explained; of several that fit, the fact names all."""
    names = alternatives[0] if len(alternatives) == 1 else ()
    return tuple(known_bugs()[name] for name in names)


def _failure(run: Summary, outcome: Outcome, command: Command) -> Failure:
    waiting = run.held_by(outcome)
    held = f"\n{told.held(waiting)}" if waiting else ""
    return Failure(
        outcome.grading.section,
        outcome.grading.spoken_title,
        f"{outcome.message}{held}",
        command(outcome.test),
        also=tuple(dict.fromkeys(_others(run, outcome))),
        errors=outcome.error_by_step,
        tolerance=outcome.tolerance or 0.0,
        difference=outcome.difference,
        side_by_side=outcome.side_by_side,
        printed=outcome.printed,
    )


def _others(run: Summary, outcome: Outcome) -> Iterator[str]:
    """The other variants of the same test that fail."""
    name = outcome.test.partition("[")[0]
    for other in run.all_failures:
        if other is not outcome and other.test.partition("[")[0] == name:
            yield other.grading.variant or other.test.rpartition("[")[2].rstrip("]")


def _test_rows(run: Summary) -> list[TestRow]:
    """Tests of one section and title in one row."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in run.outcomes:
        groups.setdefault((outcome.grading.section, spoken(outcome.grading.title)), []).append(
            outcome
        )
    return [
        TestRow(
            tests[0].grading.part,
            section,
            title,
            (sum(o.state == PASSED for o in tests), len(tests)),
            (0, 0),
            run.earned(tests),
            sum(o.grading.points for o in tests),
            any(o.state not in (NOT_STARTED, WAITING) for o in tests),
        )
        for (section, title), tests in groups.items()
    ]
