"""Every exercise: formulas by name, and the questions of questions.toml with their values."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from assignment.harness.words import Text

from . import day3, lecture2
from .question import Formula, NumericQuestion, Values

FORMULAS: dict[str, Formula] = lecture2.FORMULAS | day3.FORMULAS
VALUES: dict[str, Values] = lecture2.VALUES | day3.VALUES


@cache
def all_questions() -> tuple[NumericQuestion, ...]:
    """What a number answers, in the order of the functions of part 11."""
    return tuple(_question(name, **fields) for name, fields in read_data("questions").items())


@cache
def mistakes() -> dict[str, Text]:
    """What each mistake is told, by name."""
    return {name: Text(**texts) for name, texts in read_data("mistakes").items()}


def read_data(name: str) -> dict[str, dict[str, Any]]:
    """The tables of questions.toml or mistakes.toml."""
    file = Path(__file__).with_name(f"{name}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _question(name: str, **fields: Any) -> NumericQuestion:
    true, wrong = VALUES[name]
    return NumericQuestion(name=name, value=true, mistakes=tuple(wrong), **fields)
