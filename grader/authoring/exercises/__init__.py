"""The exercises of both course documents: true answers, and what known mistakes give.

Formulas become cases with drawn sizes (grader.authoring.cases.exercises). Of the few that a number
answers, `python -m grader.authoring.exercises` writes what the students' tests need of them,
assignment/golden/answers.json: digests that tell right from wrong and do not show the answers.
Questions in words are in grader/authoring/in_words.toml.
"""

from .answers import ANSWERS_FILE, is_stale, table, write
from .question import Formula, NumericQuestion
from .questions import FORMULAS, all_questions, mistakes

__all__ = [
    "ANSWERS_FILE",
    "FORMULAS",
    "Formula",
    "NumericQuestion",
    "all_questions",
    "is_stale",
    "mistakes",
    "table",
    "write",
]
