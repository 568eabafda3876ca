"""The sections that both pages have: points, where they were lost, a model's text, all tests.

What a section shows is handed to it as plain facts; the words are made here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..difference import Difference
from ..known_bugs import KnownBug
from ..parts import PART_BY_NUMBER
from ..real_text import ModelText
from ..shown import SideBySide
from ..words import spoken, tr
from .document import listed, section
from .markup import Child, Element, element, tr_marked
from .plots import bar, directions, draw_difference, draw_error_plot, error_plot, in_words, key

N_IN_FULL = 3


def points(value: float | None) -> str:
    """`12`, `2.5`, `0.33`; a dash where there is no grade."""
    return "–" if value is None else f"{value:.2f}".rstrip("0").rstrip(".")


def of_all(earned: float, most: float) -> str:
    """`4 of 12`."""
    return tr("{n} of {all}", n=points(earned), all=points(most))


def muted(*words: Child, class_: str = "small muted") -> Element:
    """A paragraph that stands back."""
    return element("p", *words, class_=class_)


# ------------------------------------------------------------------------------------ points


@dataclass(frozen=True)
class PartRow:
    """A part's points; bars are percent of the part's maximum.

    Attributes:
        remark: behind the title, as "next: 4.2 prefill".
    """

    number: int
    title: str
    points: float
    most: float
    own_bar: float
    trusted_bar: float = 0.0
    is_below_minimum: bool = False
    remark: str = ""


def points_by_part(rows: Sequence[PartRow], with_legend: bool) -> Element:
    """A bar for each part; the legend tells one's own points from those with trusted parts."""
    table = element(
        "table",
        element("caption", tr("Points of each part"), class_="unseen"),
        _head(tr("Part"), None, tr("Points")),
        element("tbody", [_part_row(row) for row in rows]),
        class_="parts",
    )
    legend = muted(
        element("span", key("own"), tr("with your own code")),
        element("span", key("given"), tr("with trusted versions of the other parts")),
        class_="legend",
    )
    return section("points", tr("Points by part"), table, legend if with_legend else None)


def _part_row(row: PartRow) -> Element:
    below = element("span", tr("below the minimum"), class_="state-failed small")
    remark = element("span", row.remark, class_="small muted remark")
    title: list[Child] = [f"{row.number} {row.title}"]
    title += [" ", below] if row.is_below_minimum else []
    title += [" ", remark] if row.remark else []
    return element(
        "tr",
        element("th", title, scope="row"),
        element("td", bar(row.own_bar, row.trusted_bar), class_="bar-cell"),
        element("td", of_all(row.points, row.most), class_="number"),
    )


def _head(first: str, *others: str | None) -> Element:
    """A table's head; None stands above bars."""
    cells = [
        element("td", class_="bar-cell")
        if name is None
        else element("th", name, scope="col", class_="number")
        for name in others
    ]
    return element("thead", element("tr", element("th", first, scope="col"), cells))


# ------------------------------------------------------------------------ where they were lost


@dataclass(frozen=True)
class Failure:
    """A test that failed on public cases: one test function, its first failing case in full.

    Attributes:
        also: its other failing cases.
        command: what runs it alone.
        errors: of each decode step, to plot against the tolerance.
    """

    section: str
    title: str
    message: str
    command: str
    case: str = ""
    also: tuple[str, ...] = ()
    errors: tuple[float, ...] = ()
    tolerance: float = 0.0
    difference: Difference | None = None
    side_by_side: SideBySide | None = None
    printed: str = ""

    @property
    def has_plot(self) -> bool:
        """One step alone, or no tolerance, makes no plot."""
        return len(self.errors) >= 2 and self.tolerance > 0


@dataclass(frozen=True)
class Finding:
    """A diagnosis in words."""

    fact: str
    bugs: tuple[KnownBug, ...] = ()


@dataclass(frozen=True)
class PartFeedback:
    """All that is said of a part in which points were lost; the first failures in full."""

    row: PartRow
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    only_hidden: tuple[str, ...] = ()
    unfinished: str = ""

    def __bool__(self) -> bool:
        return bool(self.findings or self.failures or self.only_hidden or self.unfinished)


def where_points_were_lost(feedback: Sequence[PartFeedback]) -> Element:
    """For each part what was found, the failures, and what is not there yet."""
    parts = [_part(part) for part in feedback]
    return section("look", tr("Where points were lost"), parts)


def _part(part: PartFeedback) -> Element:
    row = part.row
    title = f"{tr('Part {part}', part=row.number)} · {row.title}"
    first, more = part.failures[:N_IN_FULL], part.failures[N_IN_FULL:]
    inside: list[Child] = [
        element("header", element("h3", title), element("span", of_all(row.points, row.most))),
        [_finding(finding) for finding in part.findings],
        [_failure(failure) for failure in first],
    ]
    if more:
        inside.append(muted(tr("{n} more, to look at after these:", n=len(more))))
        inside += [_folded(failure) for failure in more]
    if part.only_hidden:
        inside.append(element("p", tr("Wrong on hidden cases only:"), class_="after"))
        inside.append(listed(part.only_hidden))
    if part.unfinished:
        inside.append(muted(part.unfinished, class_="muted"))
    return element("div", inside, class_="part")


def _finding(finding: Finding) -> Element:
    fact = element("p", finding.fact, class_="fact")
    return element("div", fact, map(_bug, finding.bugs), class_="finding together")


def _bug(bug: KnownBug) -> list[Child]:
    cites = tr(", see {places}", places=tr(", ").join(bug.cites)) if bug.cites else None
    hints: Element | None = None
    for number, hint in reversed(list(enumerate(bug.hints))):
        # The next hint is inside of this one: it is offered to those who opened it.
        words = element("summary", _hint_number(number)), element("p", hint.spoken)
        hints = element("details", *words, hints)
    name = tr_marked("Known bug <code>{name}</code>", name=bug.name)
    named = muted(name, cites, class_="cites small muted")
    return [element("p", bug.explanation.spoken), hints, named]


def _hint_number(number: int) -> str:
    names = [tr("A hint"), tr("A second hint"), tr("A third hint")]
    return names[number] if number < len(names) else tr("Another hint")


def _failure(failure: Failure) -> Element:
    case = element("span", f"({failure.case})", class_="muted") if failure.case else None
    title = element("span", failure.title, " " if case else None, case)
    cross = element("span", "✗", aria_hidden="true")
    number = element("span", cross, f" {failure.section}", class_="section")
    also = tr(", ").join(failure.also)
    return element(
        "article",
        element("h4", number, title),
        element("pre", failure.message),
        _pictures(failure),
        muted(tr("Also wrong: {cases}", cases=also)) if also else None,
        muted(_alone(failure)),
        class_="failure together",
    )


def _folded(failure: Failure) -> Element:
    case = f" ({failure.case})" if failure.case else ""
    cross = element("span", "✗", aria_hidden="true")
    also = tr(", ").join(failure.also)
    before = f"{tr('Also wrong: {cases}', cases=also)}{tr('.')}{tr(' ')}" if also else None
    return element(
        "details",
        element("summary", cross, f" {failure.section} {failure.title}{case}"),
        element("pre", failure.message),
        _pictures(failure),
        muted(before, _alone(failure)),
        class_="more",
    )


def _alone(failure: Failure) -> list[Child]:
    return [*tr_marked("Run it alone: <code>{command}</code>", command=failure.command)]


def _pictures(failure: Failure) -> list[Child]:
    """Small arrays whole, or where a larger one is wrong; the error of each step; its prints."""
    found: list[Child] = []
    if failure.side_by_side is not None:
        found.append(_arrays(failure.side_by_side))
    elif failure.difference is not None:
        found.append(_difference(failure.difference))
    if failure.has_plot:
        plot = draw_error_plot(error_plot(failure.errors, failure.tolerance))
        found.append(element("figure", plot, class_="together"))
    if failure.printed:
        found.append(muted(tr("It printed:")))
        found.append(element("pre", failure.printed, class_="printed"))
    return found


def _arrays(arrays: SideBySide) -> Element:
    """Wrong entries are marked and have a star behind them."""
    lines: list[Child] = []
    for cells in arrays.lines():
        lines += [element("mark", c.text) if c.wrong else c.text for c in cells] + ["\n"]
    return element("pre", lines, class_="arrays")


def _difference(difference: Difference) -> Element:
    levels = [
        (tr("right"), "all-right"),
        (tr("off by less than 0.001"), "off-1"),
        (tr("off by less than 0.1"), "off-2"),
        (tr("off by more"), "off-3"),
        (tr("wrong"), "off-4"),
    ]
    shown = [item for level, item in enumerate(levels) if not level or _has(difference, level)]
    names = [element("span", key(class_), name) for name, class_ in shown]
    left_out = difference.n_left_out
    words = f"{in_words(difference)}{tr(' ')}{directions(difference)}"
    more = tr("{n} more panels are not drawn.", n=left_out)
    caption = element("figcaption", words, [tr(" "), more] if left_out else None)
    return element(
        "figure", draw_difference(difference), muted(names, class_="legend"), caption,
        class_="together",
    )  # fmt: skip


def _has(difference: Difference, level: int) -> bool:
    return bool((difference.cells == level).any())


# ------------------------------------------------------------------------------------- others


def right_with_a_remark(remarks: Iterable[str]) -> Element:
    """What is to be said of tests that passed."""
    return section("remarks", tr("Right, with a remark"), listed(remarks))


def what_the_model_writes(text: ModelText) -> Element:
    """A real model's text with the decode of this code beside the right one."""
    title = tr("What a real model writes with your decode")
    if text.is_right:
        words = tr_marked(
            "SmolLM2-135M, a trained Llama, on your <code>prefill</code> and "
            "<code>decode_step</code> agrees with the reference at every step that was compared. "
            "Taking the likeliest token each time, it writes:"
        )
        alone = element("div", element("p", text.shared + text.expected), class_="texts alone")
        return section("text", title, element("p", words), alone)
    words = [tr("SmolLM2-135M, a trained Llama, takes the likeliest token each time, from the "
                "same beginning.")]  # fmt: skip
    if text.own:
        words += [tr(" "), tr("No error is raised on either side; what differs is marked.")]
    shared = element("span", text.shared, class_="same")
    stopped = tr("No text: your decode stopped, or took too long.")
    own: list[Child] = [shared, element("mark", text.own)]
    own = own if text.own else [element("span", stopped, class_="muted")]
    texts = [
        _column(tr("With your decode"), own),
        _column(tr("With a right decode"), [shared, element("ins", text.expected)]),
    ]
    both = element("div", texts, class_="texts together")
    return section("text", title, element("p", words), both)


def _column(title: str, text: list[Child]) -> Element:
    return element("div", element("h3", title), element("p", text))


@dataclass(frozen=True)
class TestRow:
    """Tests of one title: passed and all, on public and on hidden cases.

    Attributes:
        is_started: whether none of them came upon a stub.
    """

    part: int
    section: str
    title: str
    public: tuple[int, int]
    hidden: tuple[int, int]
    points: float
    most: float
    is_started: bool


def all_tests(rows: Iterable[TestRow], caption: str, shows_hidden: bool) -> Element:
    """A row a title, and one for all of a part that was never started."""
    names = [tr("Public"), tr("Hidden")] if shows_hidden else [tr("Public")]
    table = element(
        "table",
        element("caption", caption),
        _head(tr("Test"), *names, tr("Points")),
        element("tbody", [_test_row(row, shows_hidden) for row in _folded_rows(rows)]),
        class_="tests",
    )
    return section("tests", tr("All tests"), table)


def _folded_rows(rows: Iterable[TestRow]) -> Iterator[TestRow]:
    for _, tests in itertools.groupby(rows, lambda row: row.part):
        of_part = list(tests)
        if len(of_part) == 1 or any(row.is_started for row in of_part):
            yield from of_part
        else:
            yield _sum_of(of_part)


def _sum_of(rows: Sequence[TestRow]) -> TestRow:
    """Of a part of which nothing was written yet."""
    part = PART_BY_NUMBER[rows[0].part]
    title = tr("{title}: not started", title=spoken(part.title))
    public, hidden = sum(row.public[1] for row in rows), sum(row.hidden[1] for row in rows)
    most = sum(row.most for row in rows)
    return TestRow(part.number, str(part.number), title, (0, public), (0, hidden), 0.0, most, False)


def _test_row(row: TestRow, shows_hidden: bool) -> Element:
    counts = [row.public, row.hidden] if shows_hidden else [row.public]
    cells = [
        element("td", _count(pair), class_="number lost" if pair[0] < pair[1] else "number")
        for pair in counts
    ]
    title = element("th", f"{row.section} {row.title}", scope="row")
    return element("tr", title, cells, element("td", of_all(row.points, row.most), class_="number"))


def _count(pair: tuple[int, int]) -> str:
    return of_all(*pair) if pair[1] else "–"


def percent(earned: float, most: float) -> float:
    """Of a bar's length; no more than all of it."""
    return round(100 * min(earned / most, 1), 2) if most and math.isfinite(most) else 0.0
