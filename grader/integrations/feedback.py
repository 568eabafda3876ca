"""`grader feedback`: every student's page, in the form in which a platform gives it back.

    canvas      canvas-comments.zip, for "Upload Submissions" of the assignment: a file is put on
                the submission whose user and upload its name has, `doe_12345_6789_feedback.html`
    moodle      moodle-feedback.zip, for "Upload multiple feedback files in a zip", by the
                participant's number; and the grading worksheet with its grades
    gradescope  a folder a submission with results.json and the page
    mail        an .eml file a student, and manifest.csv (id, name, email, page) for a mail merge

Pages are those of `grader report`: nothing of hidden tests, nothing of others.
"""

import csv
import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

from assignment.harness.words import plain
from grader.base.errors import GraderError
from grader.base.words import tr
from grader.grades.class_lists import read_text
from grader.grades.class_scores import record_of, score_class
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.integrations.export import raw_csv
from grader.integrations.export.csv_file import number_cell, text_cell
from grader.integrations.export.gradescope import write_results
from grader.reports.pages.place import page_names, require_own_folder
from grader.reports.pages.student import student_page
from grader.results.record import SubmissionResult, write_atomically

MARKER = ".grader-feedback"
_OURS = ("pages", "mail", "gradescope")
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<user>\d+)_(?P<upload>\d+)_.+")
_NUMBERED = re.compile(r"(?P<name>.+)_(?P<number>\d+)")
_PARTICIPANT = re.compile(r"\D*(\d+)")
_GRADE_COLUMNS = ("Grade", "成绩")


@dataclass(frozen=True)
class _Feedback:
    """One student's page on its way."""

    score: Score
    record: SubmissionResult
    page: str
    page_name: str


@dataclass(frozen=True)
class Options:
    """What a target needs beside the results.

    Attributes:
        sheet: moodle: the grading worksheet as it was exported.
        column: its column of grades, where that is not called Grade.
        sender: mail: the address in From.
    """

    sheet: Path | None = None
    column: str | None = None
    sender: str | None = None


def write_feedback(
    to: str,
    results: Path,
    out: Path,
    policy: Policy,
    submitted: Path | None = None,
    options: Options | None = None,
) -> list[str]:
    """Write the feedback of a class into `out`, and say what was done in sentences.

    Raises:
        GraderError: no results, a folder that is not ours, a worksheet that is none.
    """
    require_own_folder(out, MARKER, "feedback")
    if out.resolve() == results.resolve():
        raise GraderError(f"The feedback cannot be written into the results {results}/ themselves.")
    found, left_out, problems = _pages(results, policy, submitted)
    if not found:
        raise GraderError(f"Nobody in {results}/ has a grade, so there is no feedback to give.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKER).touch()
        for name in _OURS:  # who is gone since must not get mail
            shutil.rmtree(out / name, ignore_errors=True)
        said = _TARGETS[to](found, out, policy, options or Options())
    except OSError as problem:
        raise GraderError(
            f"The feedback cannot be written to {out}/: {problem.strerror}."
        ) from None
    said += _not_named(left_out, tr("Without a graded submission and so without feedback"))
    return [*problems, *said]


def _pages(
    results: Path, policy: Policy, submitted: Path | None
) -> tuple[list[_Feedback], list[str], tuple[str, ...]]:
    scores = score_class(results, policy, submitted)
    names = page_names(score.student for score in scores)
    found, left_out = [], []
    for score in scores:
        record, _ = record_of(results, score) if score.submission else (None, None)
        if record is None or score.final is None:
            left_out.append(score.student)
            continue
        page = student_page(record, score, policy)
        found.append(_Feedback(score, record, page, names[score.student]))
    return found, left_out, (*scores.problems, *scores.mixtures)


# -------------------------------------------------------------------------------------- canvas


def _canvas(found: Sequence[_Feedback], out: Path, policy: Policy, options: Options) -> list[str]:
    files, unnamed = {}, []
    for one in found:
        match = _CANVAS.fullmatch(one.record.source.split(", ")[0])
        if match is None:
            unnamed.append(one.score.student)
            continue
        files[f"{match['name']}_{match['user']}_{match['upload']}_feedback.html"] = one.page
    if not files:
        raise GraderError(
            "No submission is named as Canvas names downloads (doejane_12345_6789_hw.zip), and by "
            "that name Canvas finds the student. Grade the folder of files as Canvas gave it."
        )
    path = out / "canvas-comments.zip"
    _write_zip(path, files)
    said = _not_named(unnamed, tr("Not named as Canvas names files, and so left out"))
    told = tr(
        "{n} pages: {path}. In the assignment, Upload Submissions puts each on its submission.",
        n=len(files),
        path=path,
    )
    return [*said, told]


def _not_named(students: Sequence[str], why: str) -> list[str]:
    if not students:
        return []
    names = tr(", ").join(students)
    return [tr("{why} ({n}): {names}.", why=why, n=len(students), names=names)]


def _write_zip(path: Path, files: dict[str, str]) -> None:
    """The same pages give the same bytes: no dates in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, page in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), _bytes(page), zipfile.ZIP_DEFLATED)
    write_atomically(path, content.getvalue())


def _bytes(page: str) -> bytes:
    return page.encode("utf-8", "replace")


# -------------------------------------------------------------------------------------- moodle


def _moodle(found: Sequence[_Feedback], out: Path, policy: Policy, options: Options) -> list[str]:
    files, numbers, unnamed = {}, {}, []
    for one in found:
        match = _NUMBERED.fullmatch(one.record.student)
        if match is None:
            unnamed.append(one.score.student)
            continue
        # Moodle reads the number between the first two underscores, so a name has none.
        name = match["name"].replace("_", " ")
        files[f"{name}_{match['number']}_assignsubmission_file_/feedback.html"] = one.page
        numbers[match["number"]] = one.score
    said = _not_named(unnamed, tr("Without a participant's number in their id, and so left out"))
    if options.sheet is not None:  # before the zip: a wrong sheet writes nothing
        said += _fill_worksheet(options.sheet, options.column, numbers, out)
    path = out / "moodle-feedback.zip"
    _write_zip(path, files)
    told = tr(
        "{n} pages: {path}. In the assignment: Upload multiple feedback files in a zip.",
        n=len(files),
        path=path,
    )
    return [*said, told]


def _fill_worksheet(
    sheet: Path, column: str | None, numbers: dict[str, Score], out: Path
) -> list[str]:
    text = read_text(sheet, "worksheet")
    try:
        header, *rows = raw_csv.parse(text, ",")
    except ValueError as problem:
        raise GraderError(
            f"{sheet} is no CSV file ({problem}). Export the worksheet anew."
        ) from None
    at = _grade_column(sheet, header.values(), column)
    _require_room(sheet, header.values(), rows, numbers.values())
    filled, unknown = set(), []
    for row in rows:
        match = _PARTICIPANT.fullmatch(row.value(0).strip())
        score = numbers.get(match[1]) if match else None
        if score is None or at >= len(row.cells):
            unknown.append(row.value(0))
            continue
        row.replace(at, number_cell(score.final))
        filled.add(match[1] if match else "")
    if not filled:
        raise GraderError(
            f"No participant of {sheet} is among the results: its first column should be Moodle's "
            "`Participant 123`, and the results' ids end in those numbers. Nothing was written."
        )
    path = out / sheet.name
    write_atomically(path, raw_csv.join([header, *rows], ",").encode("utf-8-sig"))
    said = []
    if left := sorted(score.student for number, score in numbers.items() if number not in filled):
        said += _not_named(left, tr("Not in the worksheet"))
    if unknown := [name for name in unknown if name]:
        said += _not_named(unknown, tr("In the worksheet only, left as they are"))
    told = tr(
        "{n} grades: {path}. In the assignment: Upload grading worksheet.", n=len(filled), path=path
    )
    return [*said, told]


def _grade_column(sheet: Path, names: Sequence[str], column: str | None) -> int:
    for wanted in (column,) if column else _GRADE_COLUMNS:
        if wanted in names:
            return names.index(wanted)
    raise GraderError(
        f"{sheet} has no column {column or 'Grade'!r}; it has {', '.join(names)}. Name the column "
        "of the grades with --column, or export the grading worksheet anew."
    )


def _require_room(
    sheet: Path, names: Sequence[str], rows: Sequence[raw_csv.Row], scores: Iterable[Score]
) -> None:
    """GraderError where Moodle's maximum is smaller than a grade, which it would refuse."""
    if "Maximum Grade" not in names or not rows:
        return
    try:
        most = float(rows[0].value(names.index("Maximum Grade")))
    except ValueError:
        return
    highest = max((score.final or 0.0 for score in scores), default=0.0)
    if highest > most:
        raise GraderError(
            f"{sheet} says that the most is {most:g}, and a grade is {number_cell(highest)}. Set "
            f"`total = {most:g}` in the policy, or the assignment's maximum in Moodle. Nothing was "
            "written."
        )


# ---------------------------------------------------------------------------- gradescope, mail


def _gradescope(
    found: Sequence[_Feedback], out: Path, policy: Policy, options: Options
) -> list[str]:
    place = out / "gradescope"
    for one in found:
        path = write_results(one.record, one.score, policy, place)
        write_atomically(path.with_name(one.page_name), _bytes(one.page))
    told = tr("{n} submissions: {path}/", n=len(found), path=place)
    return [told]


def _mail(found: Sequence[_Feedback], out: Path, policy: Policy, options: Options) -> list[str]:
    for folder in ("pages", "mail"):
        (out / folder).mkdir()
    for one in found:
        write_atomically(out / "pages" / one.page_name, _bytes(one.page))
        name = Path(one.page_name).with_suffix(".eml").name
        write_atomically(out / "mail" / name, _letter(one, options.sender))
    write_atomically(out / "manifest.csv", _manifest(found))
    said = []
    if without := [one.score.student for one in found if not one.score.email]:
        said = _not_named(without, tr("Without an e-mail address, so their letter has none"))
    return [*said, tr("{n} letters: {path}/", n=len(found), path=out / "mail")]


def _manifest(found: Iterable[_Feedback]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("id", "name", "email", "page"))
    for one in found:
        cells = (one.score.student, one.score.name, one.score.email)
        writer.writerow([*(text_cell(plain(cell)) for cell in cells), f"pages/{one.page_name}"])
    return text.getvalue().encode("utf-8-sig")


def _letter(one: _Feedback, sender: str | None) -> bytes:
    """A letter with the page attached; mail programs open it as a draft."""
    letter = EmailMessage(policy=SMTP)
    letter["Subject"] = tr("Attention and KV-cache decode: your feedback")
    letter["X-Unsent"] = "1"
    if sender:
        letter["From"] = plain(sender)
    if one.score.email:
        letter["To"] = plain(one.score.email)
    text = tr(
        "{name},\n\nyou have {n} of {all} points. The page that is attached says where they come "
        "from; open it in a browser, it loads nothing.\n",
        name=plain(one.score.name or one.score.student),
        n=number_cell(one.score.final),
        all=number_cell(one.score.max_points),
    )
    letter.set_content(text)
    letter.add_attachment(
        _bytes(one.page), "text", "html", filename=one.page_name, params={"charset": "utf-8"}
    )
    return letter.as_bytes()


_TARGETS: dict[str, Callable[[Sequence[_Feedback], Path, Policy, Options], list[str]]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "mail": _mail,
}
