"""The tables of `grader scores` and `grader statistics` on a terminal."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assignment.harness.words import plain
from grader.base.terminal import say
from grader.base.words import spoken, spoken_title, tr
from grader.grades.class_scores import ClassScores
from grader.grades.judgement import remarks_of
from grader.grades.policy import Score
from grader.grades.statistics import ClassStatistics, Summary, TestStatistics
from grader.integrations.export.csv_file import number_cell


def scores_table(found: ClassScores) -> Table:
    """One row a student: points by part under the policy, lateness, the grade, notes."""
    parts = sorted({part.part for score in found for part in score.parts})
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(tr("student"), overflow="fold", min_width=12)
    table.add_column(tr("state"))
    written = any(score.written for score in found)
    adjusted = any(score.adjusted or score.override is not None for score in found)
    names = [tr("sum"), tr("late"), tr("taken off"), tr("grade")]
    names[3:3] = [tr("by people")] if adjusted else []
    names[:0] = [tr("written")] if written else []
    for name in (*(f"P{part}" for part in parts), *names):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(tr("notes"), overflow="fold")
    for score in found:
        table.add_row(*_row(score, parts, written, adjusted))
    return table


def _row(score: Score, parts: list[int], written: bool, adjusted: bool) -> list[Text]:
    by_number = {part.part: part.points for part in score.parts}
    graded = score.final is not None
    off = score.penalty + score.minimum_loss
    numbers = [by_number.get(part) for part in parts]
    numbers += [score.written.points if score.written else None] if written else []
    numbers += [score.raw, None, off or None]
    cells = [number_cell(round(n, 2)) if graded and n is not None else "-" for n in numbers]
    cells[-2] = tr("{n:.1f} d", n=score.days_late) if score.days_late else "-"
    if adjusted:
        by_people = f"{score.adjusted:+g}" if score.adjusted else "-"
        cells.append(tr("set") if score.override is not None else by_people)
    cells.append(number_cell(round(score.final, 2)) if score.final is not None else "-")
    texts = [Text(cell) for cell in cells]
    texts[-1].stylize("bold" if graded else "bold red")
    return [
        Text(plain(score.label)),
        Text(spoken(score.state)),
        *texts,
        Text(plain(tr("; ").join(remarks_of(score))), style="dim"),
    ]


# ---------------------------------------------------------------------------------- statistics


def print_statistics(of: ClassStatistics, console: Console, n_tests: int) -> None:
    """Grades, parts in percent, and the tests that the fewest passed."""
    console.print(_grades_table([of]))
    _say_about(of, console)
    parts = _table(tr("part"), *_summary_heads())
    for number, summary in of.parts.items():
        parts.add_row(f"P{number}", *_summary_cells(summary, "{:.0f}"))
    say(console, "")
    say(console, tr("Percent of each part's points, of those who handed in:"))
    console.print(parts)
    hard = sorted(of.tests, key=lambda test: test.share)[:n_tests]
    if hard:
        say(console, tr("Tests, the hardest first ({n} of {all}):", n=len(hard), all=len(of.tests)))
        console.print(_tests_table(hard))


def print_comparison(classes: Sequence[ClassStatistics], console: Console, n_tests: int) -> None:
    """The same of several classes, side by side."""
    console.print(_grades_table(classes))
    for of in classes:
        _say_about(of, console)
    table = _table(tr("part"), *(of.name for of in classes))
    for number in sorted({number for of in classes for number in of.parts}):
        means = [of.parts[number].mean if number in of.parts else None for of in classes]
        table.add_row(f"P{number}", *(_cell(mean, "{:.0f}") for mean in means))
    say(console, "")
    say(console, tr("Mean percent of each part's points:"))
    console.print(table)
    rows = _differences(classes)[:n_tests]
    if rows:
        say(console, tr("Percent who passed, the tests that differ most:"))
        table = _table(tr("test"), *(of.name for of in classes))
        for test, shares in rows:
            table.add_row(_test_name(test), *(_cell(share, "{:.0f}") for share in shares))
        console.print(table)


def _differences(
    classes: Sequence[ClassStatistics],
) -> list[tuple[TestStatistics, list[float | None]]]:
    """Tests that two classes have, with who passed in each, those that differ most first."""
    tests = {test.id: test for of in classes for test in of.tests}
    of_class = [{test.id: test.share for test in of.tests if test.n} for of in classes]
    rows = [(test, [shares.get(name) for shares in of_class]) for name, test in tests.items()]

    def spread(row: tuple[TestStatistics, list[float | None]]) -> float:
        there = [share for share in row[1] if share is not None]
        return max(there) - min(there) if len(there) > 1 else 0.0

    return sorted((row for row in rows if spread(row) > 0), key=spread, reverse=True)


def _grades_table(classes: Iterable[ClassStatistics]) -> Table:
    table = _table(tr("grades"), *_summary_heads(), tr("of"))
    for of in classes:
        table.add_row(
            plain(of.name), *_summary_cells(of.grades, "{:.2f}"), number_cell(of.max_points)
        )
    return table


def _say_about(of: ClassStatistics, console: Console) -> None:
    line = tr(
        "{name}: {n} with nothing gradable (counted as 0), {without} without a grade.",
        name=of.name,
        n=of.n_missing,
        without=of.n_without_grade,
    )
    say(console, line)
    if of.seconds.quartiles:
        time = tr(
            "Grading: {median:.1f} s a submission (median), {longest:.1f} s the longest, {all:.0f} "
            "s in all.",
            median=of.seconds.quartiles[1],
            longest=of.seconds.high,
            all=of.seconds_in_all,
        )
        say(console, time)


def _tests_table(tests: Iterable[TestStatistics]) -> Table:
    heads = (tr("passed"), tr("percent"), tr("discrimination"))
    table = _table(tr("test"), *heads)
    for test in tests:
        n = tr("{n} of {all}", n=test.n_passed, all=test.n)
        table.add_row(
            _test_name(test), n, f"{test.share:.0f}", _cell(test.discrimination, "{:+.2f}")
        )
    return table


def _test_name(test: TestStatistics) -> Text:
    hidden = f" ({tr('hidden')})" if test.visibility == "hidden" else ""
    return Text(plain(f"{test.section} {spoken_title(test.title, test.variant)}{hidden}"))


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(Text(plain(name)), justify="right")
    return table


def _summary_heads() -> tuple[str, ...]:
    quartiles = (tr("lower quartile"), tr("median"), tr("upper quartile"))
    return (tr("n"), tr("mean"), tr("deviation"), tr("lowest"), *quartiles, tr("highest"))


def _summary_cells(of: Summary, form: str) -> list[str]:
    low, middle, high = of.quartiles or (None, None, None)
    values = (of.mean, of.deviation, of.low, low, middle, high, of.high)
    return [str(of.n), *(_cell(value, form) for value in values)]


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
