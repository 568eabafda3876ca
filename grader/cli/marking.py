"""The two ways to mark written answers: question by question in a terminal, and a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from assignment.harness.words import plain
from grader.authoring.in_words import Question, question_named
from grader.base.errors import GraderError
from grader.base.terminal import say
from grader.base.words import language, tr
from grader.grades.class_lists import read_rows
from grader.intake.answers import answer_hash
from grader.integrations.export.csv_file import number_cell, text_cell
from grader.results.marks import Mark, Marks, add_marks, mark_key, new_mark, read_marks
from grader.results.record import write_atomically

Answers = Mapping[str, Mapping[str, str]]  # of each student, by the question's id
COLUMNS = ("student", "question", "points", "comment", "answer", "hash")
MAX_SHEET = 64 * 1024 * 1024


def to_mark(
    answers: Answers, questions: Sequence[Question], marks: Marks, again: bool
) -> Iterator[tuple[Question, str, str, Mark | None]]:
    """(question, student, answer, earlier mark) of what nobody has marked as it stands now."""
    given = {key: found.answers() for key, found in marks.by_student().items()}
    for question in questions:
        for student in sorted(answers):
            answer = answers[student].get(question.id)
            if answer is None:
                continue
            earlier = given.get(mark_key(student), {}).get(question.id)
            if again or earlier is None or earlier.answer_hash not in ("", answer_hash(answer)):
                yield question, student, answer, earlier


def walk(
    answers: Answers,
    questions: Sequence[Question],
    out: Path,
    by: str | None,
    again: bool,
    console: Console,
) -> None:
    """Show each answer with its rubric and ask for points; each is kept at once."""
    left = list(to_mark(answers, questions, read_marks(out), again))
    if not left:
        say(console, tr("Every answer is marked; --again shows them all the same."))
    asked, n_given = "", 0
    for number, (question, student, answer, earlier) in enumerate(left, start=1):
        if question.id != asked:
            asked = question.id
            _show_question(question, console)
        say(
            console,
            tr("{student} ({n} of {all})", student=student, n=number, all=len(left)),
            "bold",
        )
        if earlier is not None:
            said = tr("marked with {n:g} by {by}", n=earlier.points or 0.0, by=earlier.by)
            changed = earlier.answer_hash not in ("", answer_hash(answer))
            say(console, said + tr("; the answer has changed") if changed else said)
        # Line by line: nothing in an answer moves the cursor or is markup.
        for line in plain(answer, lines=True).splitlines():
            say(console, f"  {line}")
        reply = _ask(question, console)
        if reply is None:
            break
        if reply:
            points, comment = reply
            told = {"question": question.id, "points": points, "text": comment}
            new = new_mark(student, "answer", by, answer_hash=answer_hash(answer), **told)
            _keep(out, new)
            n_given += 1
    if left:
        say(console, tr("{n} marked, {left} left.", n=n_given, left=len(left) - n_given))


def _keep(out: Path, mark: Mark) -> None:
    add_marks(out, lambda _: [mark])


def _show_question(question: Question, console: Console) -> None:
    words = question.zh if language() == "zh" else question.en
    say(console, "")
    say(console, f"{question.id} ({question.points:g}; {question.source}): {words}", "bold")
    say(console, tr("Answer: {answer}", answer=question.answer))
    for line in question.rubric:
        say(console, f"  - {line}")


def _ask(question: Question, console: Console) -> tuple[float, str] | tuple[()] | None:
    """Points and comment; () to pass over, None to end."""
    prompt = tr("points 0-{n:g} and a comment, empty: later, q: end> ", n=question.points)
    while True:
        try:
            reply = console.input(prompt, markup=False).strip()
        except (EOFError, KeyboardInterrupt):
            return None
        if reply.lower() == "q":
            return None
        if not reply:
            return ()
        number, _, comment = reply.partition(" ")
        try:
            points = float(number.replace(",", "."))
        except ValueError:
            points = -1.0
        if 0 <= points <= question.points:
            return points, comment.strip()
        say(console, tr("A number from 0 to {n:g}, then a comment.", n=question.points))


# ------------------------------------------------------------------------------------------ CSV


def write_sheet(
    answers: Answers, questions: Sequence[Question], path: Path, out: Path, again: bool
) -> int:
    """Write what is to be marked as a CSV file with empty points; returns its rows."""
    if path.resolve().is_relative_to(out.resolve()):
        raise GraderError(f"{path} lies in the folder of the results. Choose another place.")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    rows = list(to_mark(answers, questions, read_marks(out), again))
    for question, student, answer, earlier in rows:
        points = number_cell(earlier.points) if earlier else ""
        comment = text_cell(earlier.text) if earlier else ""
        cell = text_cell(plain(answer, lines=True))
        row = [text_cell(student), question.id, points, comment, cell, answer_hash(answer)]
        writer.writerow(row)
    try:
        write_atomically(path, text.getvalue().encode("utf-8-sig"))
    except OSError as problem:
        raise GraderError(f"{path} cannot be written: {problem.strerror}.") from None
    return len(rows)


def mark_from_csv(path: Path, out: Path, by: str | None) -> int:
    """Give the points of a CSV file, all of them or none; rows without points are passed over.

    Columns: student, question (number or name), points; comment, answer and hash may be missing.
    What says the same as the mark that counts is not given again.

    Raises:
        GraderError: a student without a result, a question that is none, points beyond its own.
    """
    from grader.grades.class_scores import read_records

    known = {mark_key(record.student): record.student for record in read_records(out)}
    wanted: dict[tuple[str, str], Mark] = {}
    for line, row in read_rows(path, "marks", "student", COLUMNS, MAX_SHEET):
        for mark in _mark(path, line, row, known, by):
            if (mark.student, mark.question) in wanted:
                raise GraderError(
                    f"{path}, line {line}: {mark.student}, {mark.question} stands there twice. "
                    "Keep one. Nothing was marked."
                )
            wanted[mark.student, mark.question] = mark

    def new(there: Marks) -> list[Mark]:
        counting = {key: found.answers() for key, found in there.by_student().items()}
        return [
            mark
            for mark in wanted.values()
            if not _says_the_same(mark, counting.get(mark_key(mark.student), {}).get(mark.question))
        ]

    return len(add_marks(out, new))


def _mark(
    path: Path, line: int, row: dict[str, str], known: Mapping[str, str], by: str | None
) -> list[Mark]:
    """The mark of one row, or none where it has no points."""
    if not row.get("points"):
        return []
    where = f"{path}, line {line}"
    student = row["student"].removeprefix("'")
    if mark_key(student) not in known:
        raise GraderError(
            f"{where}: there is no result of {student!r}. Nothing was marked; correct the id, or "
            "name the folder of the results with --results."
        )
    question = question_named(row.get("question", ""))
    if question is None:
        raise GraderError(
            f"{where}: there is no question {row.get('question', '')!r}. Nothing was marked; "
            "expected a number from 1 to 9 or a question's name."
        )
    try:
        points = float(row["points"])
    except ValueError:
        points = -1.0
    if not 0 <= points <= question.points:
        raise GraderError(
            f"{where}: points are {row['points']!r}, expected a number from 0 to "
            f"{question.points:g}. Nothing was marked."
        )
    text, judged = row.get("comment", "").removeprefix("'"), row.get("hash", "")
    told = {"question": question.id, "points": points, "text": text, "answer_hash": judged}
    return [new_mark(known[mark_key(student)], "answer", by, **told)]


def _says_the_same(mark: Mark, old: Mark | None) -> bool:
    return old is not None and (old.points, old.text) == (mark.points, mark.text)
