"""The table of `grader scores`: one row a student, on a terminal."""

from rich import box
from rich.table import Table
from rich.text import Text

from assignment.harness.words import plain
from grader.base.words import spoken, tr
from grader.grades.class_scores import ClassScores
from grader.grades.policy import Score
from grader.integrations.export.cells import number_cell


def scores_table(found: ClassScores) -> Table:
    """One row a student: points by part under the policy, lateness, the grade, notes."""
    parts = sorted({part.part for score in found for part in score.parts})
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(tr("student"), overflow="fold", min_width=12)
    table.add_column(tr("state"))
    names = (tr("sum"), tr("late"), tr("taken off"), tr("grade"))
    for name in (*(f"P{part}" for part in parts), *names):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(tr("notes"), overflow="fold")
    for score in found:
        table.add_row(*_row(score, parts))
    return table


def _row(score: Score, parts: list[int]) -> list[Text]:
    by_number = {part.part: part.points for part in score.parts}
    graded = score.final is not None
    off = score.penalty + score.minimum_loss
    numbers = [by_number.get(part) for part in parts]
    numbers += [score.raw, None, off or None, score.final]
    cells = [number_cell(round(n, 2)) if graded and n is not None else "-" for n in numbers]
    cells[-3] = tr("{n:.1f} d", n=score.days_late) if score.days_late else "-"
    texts = [Text(cell) for cell in cells]
    texts[-1].stylize("bold" if graded else "bold red")
    return [
        Text(plain(score.student)),
        Text(spoken(score.state)),
        *texts,
        Text(plain(tr("; ").join(score.notes)), style="dim"),
    ]
