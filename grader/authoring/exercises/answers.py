"""The students' copy of the answers: digests, and explanations without the numbers they explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assignment.harness.exercises import ANSWERS_FILE, digest, place_of

from .question import NumericQuestion, Shape
from .questions import all_questions

NOTE = (
    "Digests of the answers: the tests can tell right from wrong, and nobody reads an answer by "
    "accident. They are no secret, since trying all values takes a second."
)


def table() -> dict[str, Any]:
    """What answers.json holds."""
    return {"note": NOTE, "questions": {q.name: _entry(q) for q in all_questions()}}


def text() -> str:
    """The file's content; the same questions give the same bytes."""
    return json.dumps(table(), indent=1, ensure_ascii=False) + "\n"


def write() -> None:
    """Write the students' copy."""
    ANSWERS_FILE.write_text(text(), encoding="utf-8")


def is_stale(file: Path = ANSWERS_FILE) -> bool:
    """Whether a students' copy is not what the reference computes."""
    return not file.exists() or file.read_text(encoding="utf-8") != text()


def _entry(question: NumericQuestion) -> dict[str, Any]:
    return {
        "kind": question.kind,
        "digits": question.digits,
        "exact": question.exact,
        "answer": _digest(question, question.value),
        "mistakes": {
            _digest(question, mistake.value): {"en": mistake.why.en, "zh": mistake.why.zh}
            for mistake in question.mistakes
        },
    }


def _digest(question: NumericQuestion, value: float | Shape) -> str:
    if isinstance(value, tuple):
        return digest(question.name, f"{value[0]} x {value[1]}")
    return digest(question.name, place_of(value, question.exact))
