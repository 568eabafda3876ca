"""`grader scores`, `export` and `statistics`: what the policy makes of the results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from grader.base.errors import GraderError
from grader.base.terminal import console_for_people, say
from grader.base.words import speak, tr, tr_n
from grader.cli.options import LangOption, PolicyOption, ResultsOption, SubmittedOption

if TYPE_CHECKING:  # see grader.cli.main
    from grader.grades.class_scores import ClassScores
    from grader.grades.policy_file import Policy

Target = Literal["csv", "json", "canvas", "gradescope", "nbgrader"]
Match = Literal["auto", "login", "sis", "id", "name"]


def scores(
    out: ResultsOption = Path("results"),
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    lang: LangOption = None,
) -> None:
    """Show the grades that a policy makes of the results; nothing is graded again."""
    from grader.cli.scores_table import scores_table
    from grader.grades.class_scores import score_class
    from grader.grades.policy_file import Policy
    from grader.integrations.export.csv_file import number_cell

    speak(lang)
    found = score_class(out, Policy.load(policy), submitted)
    console = console_for_people()
    console.print(scores_table(found))
    no_grade = sum(score.final is None for score in found)
    n, points = len(found), number_cell(found.max_points)
    counted = tr_n(n, "1 student", "{n} students")
    line = tr("{students}, {points} points.", students=counted, points=points)
    if no_grade:
        line = tr(
            "{students}, {n} without a grade, {points} points.",
            students=counted,
            n=no_grade,
            points=points,
        )
    say(console, line)
    _complain((*found.problems, *found.mixtures))


def export(
    to: Annotated[Target, typer.Option("--to", help="The format.")],
    out: ResultsOption = Path("results"),
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="canvas: the gradebook exported from Canvas.")
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", help="canvas: the column, as 'Lecture 2 (123456)'.")
    ] = None,
    match: Annotated[
        Match,
        typer.Option(
            "--match", help="canvas: which of its columns holds the results' names; auto: the ids."
        ),
    ] = "auto",
    course: Annotated[
        Path | None, typer.Option("--course", help="nbgrader: the course's folder.")
    ] = None,
    assignment: Annotated[
        str | None, typer.Option("--assignment", help="nbgrader: the assignment's name.")
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write",
            help="File to write (gradescope: folder).",
            show_default="scores.csv, scores.json, gradescope/, EXPORTED-graded.csv",
        ),
    ] = None,
    mixed: Annotated[
        bool,
        typer.Option("--mixed", help="Export also what other tests or other limits graded."),
    ] = False,
    lang: LangOption = None,
) -> None:
    """Write the grades for another program."""
    from grader.grades.class_scores import score_class
    from grader.grades.policy_file import Policy

    speak(lang)
    _check_options(to, into, column, course, assignment, write)
    rules = Policy.load(policy)
    found = score_class(out, rules, submitted)
    if (told := found.mixtures) and not mixed:
        raise GraderError(" ".join((*told, "Nothing was exported; --mixed exports all the same.")))
    console = console_for_people()
    if to in ("csv", "json"):
        path = write or Path(f"scores.{to}")
        _refuse_in_results(path, out)
        _write_table(to, found, rules, path)
        said = [f"{len(found)} scores: {path}"]
    elif to == "canvas":
        assert into is not None and column is not None  # by _check_options
        path = write or into.with_name(f"{into.stem}-graded{into.suffix}")
        said = _export_canvas(found, into, column, path, match)
    elif to == "gradescope":
        path = write or Path("gradescope")
        _refuse_in_results(path, out)
        said = _export_gradescope(found, out, rules, path)
    else:
        from grader.integrations.export.gradebook import write_gradebook

        assert course is not None and assignment is not None  # by _check_options
        said = write_gradebook(found, out, rules, course, assignment)
    for sentence in said:
        say(console, sentence)
    _complain((*found.problems, *told))


def statistics(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RESULTS", help="Folders of results; several are compared."),
    ] = None,
    policy: PolicyOption = None,
    submitted: SubmittedOption = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Write all test results here: a row a student and test."),
    ] = None,
    tests: Annotated[
        int, typer.Option("--tests", min=0, help="How many tests to list, the hardest first.")
    ] = 15,
    lang: LangOption = None,
) -> None:
    """Say what a class's grades and tests are like: mean, quartiles, discrimination of a test."""
    from grader.cli.scores_table import print_comparison, print_statistics
    from grader.grades.policy_file import Policy
    from grader.grades.statistics import class_statistics, write_long

    speak(lang)
    places, rules = folders or [Path("results")], Policy.load(policy)
    console = console_for_people()
    classes = [class_statistics(place, rules, submitted) for place in places]
    if len(classes) == 1:
        print_statistics(classes[0], console, tests)
    else:
        print_comparison(classes, console, tests)
    if csv is not None:
        for place in places:
            _refuse_in_results(csv, place)
        with _writing(csv), csv.open("w", encoding="utf-8", newline="") as file:
            n = write_long(places, rules, submitted, file)
        say(console, tr("{n} rows: {file}", n=n, file=csv))
    _complain(tuple(problem for one in classes for problem in one.problems))


# ------------------------------------------------------------------------------------- formats


def _write_table(to: str, found: ClassScores, rules: Policy, path: Path) -> None:
    from grader.integrations.export.csv_file import write_csv
    from grader.integrations.export.json_file import write_json

    with _writing(path):
        if to == "csv":
            write_csv(found, path)
        else:
            write_json(found, rules, path)


def _export_canvas(
    found: ClassScores, into: Path, column: str, path: Path, match: Match
) -> list[str]:
    from grader.integrations.export.canvas import write_column

    with _writing(path):
        report = write_column(found, into, column, path, match)
    students = f"{report.written} of {len(found)} scores in column {column!r}"
    return [*report.sentences(), f"{students}: {path}. Upload it in Canvas under Grades, Import."]


def _export_gradescope(found: ClassScores, out: Path, rules: Policy, folder: Path) -> list[str]:
    from grader.base.notes import in_words
    from grader.grades.class_scores import record_of
    from grader.integrations.export.gradescope import write_results

    written, left_out = 0, []
    for score in found:
        record, refusal = record_of(out, score)
        if record is None or score.final is None:
            why = in_words(refusal) if refusal else tr("; ").join(score.notes)
            left_out.append(f"{score.student} ({why})")
            continue
        with _writing(folder):
            write_results(record, score, rules, folder)
        written += 1
    said = [f"Not written ({len(left_out)}): {'; '.join(left_out)}."] if left_out else []
    return [*said, f"{written} submissions: {folder}/<submission>/results.json"]


# ---------------------------------------------------------------------------------------- help


_INSTEAD = {
    "nbgrader": (
        ", for it puts what was graded outside a course into its gradebook. For notebooks that "
        "nbgrader collected, `grader nbgrader autograde COURSE` grades and writes in one"
    )
}


def _check_options(
    to: str,
    into: Path | None,
    column: str | None,
    course: Path | None,
    assignment: str | None,
    write: Path | None,
) -> None:
    """Options that a format needs, and none that it would ignore."""
    given = {
        "--into": into,
        "--column": column,
        "--course": course,
        "--assignment": assignment,
        "--write": write,
    }
    needs = {"canvas": ("--into", "--column"), "nbgrader": ("--course", "--assignment")}
    needed = needs.get(to, ())
    if missing := [name for name in needed if given[name] is None]:
        raise GraderError(
            f"--to {to} needs {' and '.join(missing)}{_INSTEAD.get(to, '')}; "
            "`grader export --help` tells more."
        )
    ignored = {"--into", "--column", "--course", "--assignment"} - set(needed)
    ignored |= {"--write"} if to == "nbgrader" else set()
    if useless := sorted(name for name in ignored if given[name] is not None):
        raise GraderError(f"--to {to} makes no use of {', '.join(useless)}.")


def _refuse_in_results(path: Path, out: Path) -> None:
    if path.resolve().is_relative_to(out.resolve()):
        raise GraderError(
            f"{path} lies in the folder of the results, where it would be taken for one. Choose "
            "another place with --write."
        )


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise GraderError(f"{path} cannot be written: {problem.strerror}.") from None


def _complain(problems: tuple[str, ...]) -> None:
    console = Console(stderr=True)
    for problem in problems:
        say(console, problem)
