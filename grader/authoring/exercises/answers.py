"""The students' copy: digests of the answers that are numbers, and what known mistakes are told."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from assignment.harness.exercises import ANSWERS_FILE, digest, exact_digest, place_of

from .question import NumericQuestion
from .questions import all_questions, mistakes

NOTE = (
    "Digests of the answers: the tests can tell right from wrong, and nobody reads an answer by "
    "accident. They are no secret, since trying all values takes a second."
)


def table() -> dict[str, Any]:
    """What answers.json holds."""
    return {
        "note": NOTE,
        "questions": {q.name: _entry(q) for q in all_questions()},
        "mistakes": {name: {"en": why.en, "zh": why.zh} for name, why in mistakes().items()},
    }


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
    name, value = question.name, question.value
    return {
        "kind": question.kind,
        "digits": question.digits,
        "answer": digest(name, place_of(value)),
        "exactly": exact_digest(name, Fraction(value)) if question.exact else None,
        "mistakes": {digest(name, place_of(wrong)): why for why, wrong in question.mistakes},
    }
