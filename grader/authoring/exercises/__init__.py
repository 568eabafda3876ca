"""The exercises of both course documents with a number for an answer: true values, known mistakes.

`python -m grader.authoring.exercises` writes what the students' tests need of them,
assignment/golden/answers.json: digests that tell right from wrong and do not show the answers.
Questions in words are in grader/integrations/nbgrader/questions.toml.
"""

from .answers import ANSWERS_FILE, is_stale, table, write
from .question import Mistake, NumericQuestion
from .questions import all_questions

__all__ = [
    "ANSWERS_FILE",
    "Mistake",
    "NumericQuestion",
    "all_questions",
    "is_stale",
    "table",
    "write",
]
