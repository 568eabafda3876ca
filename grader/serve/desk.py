"""A student at a person's desk: attempts side by side, what was decided, forms, the student's page.

What a form does, `grader adjust` and `grader mark` do as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from assignment.harness.page.document import document, heading, listed, section
from assignment.harness.page.markup import Child, Element, element
from assignment.harness.page.sections import points as shown
from assignment.harness.parts import PART_BY_NUMBER
from grader.authoring.in_words import questions
from grader.base.errors import GraderError
from grader.base.words import language, spoken, tr
from grader.grades.deciding import decide
from grader.grades.policy import Score
from grader.results.history import Score as Attempt
from grader.results.history import earlier_records, read_score
from grader.results.marks import Kind, Mark, mark_key, read_marks
from grader.results.record import record_path
from grader.serve.live import LiveReport

KINDS: tuple[Kind, ...] = ("points", "override", "comment", "appeal", "answer", "withdrawn")
MAX_ATTEMPTS = 6
MOST = 1e6  # points that a mark may have, see grader.results.marks


def take(report: LiveReport, score: Score, form: Mapping[str, str]) -> None:
    """Keep the decision that a form sent.

    Raises:
        GraderError: a number is none, a reason is missing, or what `decide` refuses.
    """
    kind = form.get("kind", "")
    if kind not in KINDS:
        raise GraderError(f"There is no decision {kind!r}.")
    text = form.get("text", "").strip()
    if not text and kind not in ("answer", "withdrawn"):
        raise GraderError("Say why: the student reads it, and so do you next year.")
    fields: dict[str, Any] = {"text": text}
    if kind in ("points", "override", "answer"):
        fields["points"] = _number(form.get("points", ""))
    if kind == "points" and form.get("part"):
        fields["part"] = next((n for n in PART_BY_NUMBER if form["part"] == str(n)), None)
        if fields["part"] is None:
            raise GraderError(f"There is no part {form['part'][:40]}.")
    if kind == "answer":
        fields["question"] = _question(form.get("question", ""), fields["points"])
    if kind == "withdrawn":
        fields["withdraws"] = form.get("mark", "")
    decide(
        report.results,
        report.policy,
        report.submissions,
        score.student,
        kind,
        form.get("by", "").strip() or None,
        settle=bool(form.get("settle")),
        **fields,
    )


def _number(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not abs(number) <= MOST:
        raise GraderError(f"{text[:40]!r} is no number of points.")
    return number


def _question(name: str, given: float) -> str:
    for question in questions():
        if question.id == name:
            if 0 <= given <= question.points:
                return name
            raise GraderError(f"{name} has 0 to {question.points:g} points, not {given:g}.")
    raise GraderError(f"There is no question {name[:80]!r}.")


# -------------------------------------------------------------------------------------- the page


def page(report: LiveReport, score: Score, address: str) -> str:
    """The HTML of a student's desk; `address` is that of the page which the student gets."""
    marks = [
        mark for mark in read_marks(report.results) if mark_key(mark.student) in _names_of(score)
    ]
    frame = element("iframe", src=address, title=tr("The student's page"), class_="their-page")
    return document(
        score.label,
        element("p", element("a", tr("← The class"), href="/")),
        heading(tr("Attention and KV-cache decode"), element("bdi", score.label)),
        element("p", element("span", shown(score.final), class_="figure"), class_="score"),
        _attempts(report, score),
        section("decided", tr("What people decided"), _decided(marks)),
        section("decide", tr("Decide"), _forms()),
        section("answers", tr("Written answers"), _answers(score)),
        section("page", tr("The student's page"), frame),
        forms=True,
    )


def _names_of(score: Score) -> set[str]:
    names = (score.student, score.submission, *score.attempts)
    return {mark_key(name) for name in names if name}


def _attempts(report: LiveReport, score: Score) -> Element:
    """Points by part of what was handed in, the newest at the right; that which counts is named."""
    found = list(_scores_of(report, score))[-MAX_ATTEMPTS:]
    numbers = sorted({part for _, attempt in found for part in attempt.by_part})
    head = [element("th", "", scope="col")]
    head += [element("th", name, scope="col", class_="number") for name, _ in found]
    rows = [
        [tr("Part {part}", part=number), *(shown(a.by_part.get(number)) for _, a in found)]
        for number in numbers
    ]
    rows.append([tr("Points"), *(shown(attempt.total) for _, attempt in found)])
    rows.append([tr("State"), *(spoken(attempt.state) for _, attempt in found)])
    rows.append([tr("Graded"), *(f"{a.graded_at:%Y-%m-%d %H:%M}" for _, a in found)])
    table = element(
        "table",
        element("thead", element("tr", head)),
        element("tbody", [_row(row) for row in rows]),
    )
    nothing = element("p", tr("nothing was handed in"))
    return section("attempts", tr("Attempts"), table if found else nothing)


def _row(cells: list[str]) -> Element:
    first, *rest = cells
    numbers = [element("td", cell, class_="number") for cell in rest]
    return element("tr", element("th", first, scope="row"), numbers)


def _scores_of(report: LiveReport, score: Score) -> Iterator[tuple[str, Attempt]]:
    for name in score.attempts or ((score.submission,) if score.submission else ()):
        for path in earlier_records(report.results, name):
            if earlier := read_score(path):
                yield tr("{name}, before", name=name), earlier
        if now := read_score(record_path(report.results, name)):
            yield tr("{name}, counts", name=name) if name == score.submission else name, now


def _decided(marks: list[Mark]) -> Child:
    gone = {mark.withdraws for mark in marks if mark.withdraws}
    if not marks:
        return element("p", tr("Nothing was decided by a person."))
    return listed([_mark(mark, mark.id in gone) for mark in marks])


def _mark(mark: Mark, is_gone: bool) -> Element:
    points = "" if mark.points is None else f" {mark.points:+g}"
    part = "" if mark.part is None else tr(", part {part}", part=mark.part)
    told = f"{mark.at:%Y-%m-%d} {mark.by}: {mark.kind}{points} {mark.question}{part} {mark.text}"
    if is_gone or mark.withdraws:
        return element("span", told, tr("; withdrawn") if is_gone else "", class_="muted")
    button = element("button", tr("Withdraw"), type="submit")
    hidden = _hidden(kind="withdrawn", mark=mark.id)
    return element("form", told, " ", hidden, button, method="post", class_="inline")


def _forms() -> list[Child]:
    parts = [element("option", "", value="")]
    parts += [
        element("option", f"{n} {spoken(PART_BY_NUMBER[n].title)}", value=n) for n in PART_BY_NUMBER
    ]
    settle = element(
        "label", element("input", type="checkbox", name="settle"), tr("answers the open appeal")
    )
    return [
        _form(
            tr("Add or take off"),
            _field(tr("Points"), "points", "-3"),
            element("label", tr("Part"), " ", element("select", parts, name="part")),
            settle,
            kind="points",
        ),
        _form(tr("Set the grade"), _field(tr("Points"), "points", "40"), settle, kind="override"),
        _form(tr("Comment"), kind="comment"),
        _form(tr("Note an appeal"), kind="appeal"),
    ]


def _form(title: str, *fields: Child, **hidden: str) -> Element:
    reason = _field(tr("Why"), "text", "", size=40)
    button = element("button", title, type="submit")
    return element(
        "form", _hidden(**hidden), fields, reason, button, method="post", class_="decide"
    )


def _field(label: str, name: str, example: str, size: int = 6) -> Element:
    entry = element("input", name=name, size=size, placeholder=example or None, autocomplete="off")
    return element("label", f"{label} ", entry)


def _hidden(**values: str) -> list[Element]:
    return [
        element("input", type="hidden", name=name, value=value) for name, value in values.items()
    ]


def _answers(score: Score) -> list[Child]:
    """A form for each question; points of the policy are not shown, for they may be scaled."""
    given = {answer.question: answer for answer in (score.written.answers if score.written else ())}
    found: list[Child] = []
    for question in questions():
        answer = given.get(question.id)
        state = (
            tr("not marked") if answer is None or answer.points is None else shown(answer.points)
        )
        words = question.zh if language() == "zh" else question.en
        found.append(
            element(
                "details",
                element("summary", f"{question.id} ({question.points:g}): {state}"),
                element("p", words),
                element("p", tr("Answer: {answer}", answer=question.answer), class_="muted"),
                listed(question.rubric),
                _form(
                    tr("Mark"),
                    _field(tr("Points"), "points", f"0-{question.points:g}"),
                    kind="answer",
                    question=question.id,
                ),
            )
        )
    return found
