"""The questions that people grade: explain in words, from both course documents."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

QUESTIONS_FILE = Path(__file__).with_name("in_words.toml")


@dataclass(frozen=True)
class Question:
    """One question, with what a grader needs to judge an answer.

    Attributes:
        source: where it stands, as in "D3 自测 1".
        rubric: lines "points: for what"; their points sum to `points`.
    """

    id: str
    part: int
    points: float
    source: str
    en: str
    zh: str
    answer: str
    rubric: tuple[str, ...]


@cache
def questions() -> tuple[Question, ...]:
    """All questions, in the order of the parts."""
    entries = tomllib.loads(QUESTIONS_FILE.read_text(encoding="utf-8"))["question"]
    return tuple(Question(**entry | {"rubric": tuple(entry["rubric"])}) for entry in entries)


def question_named(name: str) -> Question | None:
    """The question with this id, or this number of the handouts: `rope-is-relative`, `4`."""
    for number, question in enumerate(questions(), start=1):
        if name.strip().lower() in (question.id, str(number)):
            return question
    return None
