"""`--to json`: all scores in one document; its schema is docs/schema/scores.schema.json."""

from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict

from grader.grades.class_scores import ClassScores
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.results.record import write_atomically


class PolicyShown(BaseModel):
    """The policy's numbers, for whoever reads the scores: see grader/grades/policy.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attempts: Literal["best", "last"]
    total: float | None
    written: bool
    points: dict[int, float]
    due: AwareDatetime | None
    drop_dead: AwareDatetime | None
    grace_minutes: float
    percent_per_day: float
    percent_of: Literal["score", "maximum"]
    cap_percent: float
    minimum_percent: dict[int, float]
    below_minimum: Literal["note", "cap"]
    below_minimum_cap_percent: float


class ScoresDocument(BaseModel):
    """The scores of a class.

    Attributes:
        max_points: the largest maximum of a student.
        problems: sentences for the instructor: damaged results, results of the same id.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = 1
    policy: PolicyShown
    max_points: float
    problems: tuple[str, ...]
    scores: tuple[Score, ...]


def document(scores: ClassScores, policy: Policy) -> ScoresDocument:
    """What `--to json` writes."""
    late, minimum = policy.late, policy.minimum
    shown = PolicyShown(
        attempts=policy.attempts,
        total=policy.total,
        written=policy.written,
        points=policy.points,
        due=late.at("due"),
        drop_dead=late.at("drop_dead"),
        grace_minutes=late.grace_minutes,
        percent_per_day=late.percent_per_day,
        percent_of=late.percent_of,
        cap_percent=late.cap_percent,
        minimum_percent=minimum.parts,
        below_minimum=minimum.otherwise,
        below_minimum_cap_percent=minimum.cap_percent,
    )
    return ScoresDocument(
        policy=shown,
        max_points=scores.max_points,
        problems=scores.problems,
        scores=scores.scores,
    )


def write_json(scores: ClassScores, policy: Policy, path: Path) -> None:
    """Write the document atomically."""
    write_atomically(path, document(scores, policy).model_dump_json(indent=1).encode() + b"\n")
