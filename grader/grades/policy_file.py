"""The policy file: its keys, its checks, and the sentences about what is wrong with it.

policy.toml beside this file is the default and explains every key.
"""

import difflib
import re
import tomllib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BeforeValidator,
    Field,
    ValidationError,
)

from assignment.harness.parts import PARTS
from grader.base.errors import GraderError
from grader.grades.class_lists import read_extensions, read_text, student_key
from grader.grades.lateness import Late, Percent, Strict

DEFAULT = Path(__file__).with_name("policy.toml")

Attempts = Literal["best", "last"]
HiddenShown = Literal["scores", "nothing"]
GradescopeVisibility = Literal["hidden", "after_due_date", "after_published", "visible"]


def _by_part(value: object) -> object:
    """TOML's keys are text: `4 = 50` becomes {4: 50}."""
    if not isinstance(value, dict):
        return value
    known = ", ".join(str(part.number) for part in PARTS)
    for key in value:
        if not (
            str(key).isascii()
            and str(key).isdigit()
            and int(key) in {part.number for part in PARTS}
        ):
            raise ValueError(f"there is no part {key!r}; the homework has the parts {known}")
    return {int(key): number for key, number in value.items()}


_MAX_POINTS = 1e6
Points = Annotated[float, Field(ge=0, le=_MAX_POINTS, allow_inf_nan=False)]
ByPart = BeforeValidator(_by_part)


class Visibility(Strict):
    """What students see of hidden tests."""

    hidden: HiddenShown = "scores"
    gradescope: GradescopeVisibility = "after_published"


class Minimum(Strict):
    """Parts that must reach a share (percent) of their points."""

    otherwise: Literal["note", "cap"] = "note"
    cap_percent: Percent = 40.0
    parts: Annotated[dict[int, Percent], ByPart] = Field(default_factory=dict)


def _bands(value: object) -> object:
    """[[1.25, 100], [2, 80]] as pairs of numbers, ratios ascending and percents descending."""
    if not isinstance(value, list | tuple):
        raise ValueError("expected a list of pairs, as in [[1.25, 100], [2, 80]]")
    for pair in value:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(f"found {pair!r}, expected a pair [ratio, percent]")
        if any(isinstance(n, bool) or not isinstance(n, int | float) for n in pair):
            raise ValueError(f"found {pair!r}, expected two numbers [ratio, percent]")
        if not (0 < pair[0] <= 1e6 and 0 <= pair[1] <= 100):
            raise ValueError(f"found {pair!r}; a ratio is above 0, a percent from 0 to 100")
    ratios, percents = [pair[0] for pair in value], [pair[1] for pair in value]
    if sorted(set(ratios)) != ratios or sorted(percents, reverse=True) != percents:
        raise ValueError("the ratios must ascend and the percents must not")
    return tuple((float(ratio), float(percent)) for ratio, percent in value)


class Bench(Strict):
    """Points of `grader bench`, by ratios; an absolute time never counts."""

    points: Points = 10.0
    against: Literal["solution", "naive", "bound"] = "solution"
    bands: Annotated[tuple[tuple[float, float], ...], BeforeValidator(_bands)] = (
        (1.25, 100.0),
        (2.0, 80.0),
        (4.0, 50.0),
        (8.0, 20.0),
    )

    def points_for(self, ratio: float) -> float:
        """The share of the first band that reaches up to this ratio; none beyond the last."""
        return next((self.points * p / 100 for most, p in self.bands if ratio <= most), 0.0)


class _PolicyFile(Strict):
    attempts: Attempts = "best"
    resubmissions: Literal["replace", "attempt"] = "replace"
    decimals: Annotated[int, Field(ge=0, le=4)] = 2
    total: Points | None = None
    written: bool = True
    without_cache_percent: Percent = 0.0
    points: Annotated[dict[int, Points], ByPart] = Field(default_factory=dict)
    visibility: Visibility = Visibility()
    late: Late = Late()
    minimum: Minimum = Minimum()
    bench: Bench = Bench()


class Policy(_PolicyFile):
    """The policy file and what it names.

    Attributes:
        due_of: the due dates that extensions give, by `student_key`.
        source: the file, for messages.
    """

    due_of: dict[str, AwareDatetime] = Field(default_factory=dict)
    source: str = ""

    @classmethod
    def load(cls, path: Path | None = None) -> "Policy":
        """Read a policy file (None: the default), and the extensions it names.

        Raises:
            GraderError: a sentence that names file, line and key, what stands there and what was
                expected.
        """
        path = path or DEFAULT
        text = read_text(path, "policy")
        try:
            data = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as problem:
            raise GraderError(f"{path} is no valid TOML: {problem}.") from None
        try:
            file = _PolicyFile.model_validate(data)
        except ValidationError as problem:
            raise GraderError(_sentence(path, text, problem)) from None
        due_of = {}
        if file.late.extensions:
            due_of = read_extensions(path.parent / file.late.extensions, file.late)
        # Built from parts that are validated already; `due_of` is not a key of the file.
        return cls(**dict(file), due_of=due_of, source=str(path))

    @property
    def has_late_rule(self) -> bool:
        """Whether a submission's time can change its score."""
        return bool(self.late.due and (self.late.percent_per_day or self.late.drop_dead))

    def due_date(self, student: str) -> datetime | None:
        """The student's own due date, extension included, in UTC."""
        return self.due_of.get(student_key(student), self.late.at("due"))

    def drop_dead_date(self, student: str) -> datetime | None:
        """The drop-dead date, moved by the student's extension, in UTC."""
        last, due = self.late.at("drop_dead"), self.late.at("due")
        if last is None or due is None:
            return None
        return last + (self.due_of.get(student_key(student), due) - due)


def _sentence(path: Path, text: str, problem: ValidationError) -> str:
    """The first error, as file, line, key, found, expected."""
    error = problem.errors()[0]
    keys = [str(key) for key in error["loc"]]
    where = _place(path, text, keys)
    more = problem.error_count() - 1
    rest = f" ({more} more after this one.)" if more else ""
    if error["type"] == "extra_forbidden":
        return f"{where}: there is no such key.{_known_keys(keys)}{rest}"
    if error["type"] == "value_error":
        return f"{where}: {error['ctx']['error']}.{rest}"
    expected = error["msg"].replace("Input should be", "expected")
    for words, better in _BETTER_WORDS.items():
        expected = expected.replace(words, better)
    return f"{where}: found {_shown(error['input'])}, {expected}.{rest}"


_BETTER_WORDS = {
    "expected greater": "expected a number greater",
    "expected less": "expected a number less",
    "valid dictionary": "table",
    "a valid number": "a number",
    "valid integer": "integer",
    "valid string": "text in quotes",
    "valid datetime": "date and time",
}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _place(path: Path, text: str, keys: Sequence[str]) -> str:
    """`policy.toml, line 12, [late] due`; the line where it can be found."""
    *tables, key = keys or [""]
    header = ".".join(tables)
    name = f"[{header}] {key}" if header else f"`{key}`" if key else "the file"
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            section = match[1].replace(" ", "")
        if section == ".".join(keys):
            return f"{path}, line {number}, [{section}]"
        if section == header and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
            return f"{path}, line {number}, {name}"
    return f"{path}, {name}"


def _known_keys(keys: Sequence[str]) -> str:
    model: Any = _PolicyFile
    for table in keys[:-1]:
        model = model.model_fields[table].annotation
    known = list(model.model_fields)
    close = difflib.get_close_matches(keys[-1], known, n=1)
    guess = f" Did you mean `{close[0]}`?" if close else ""
    return f"{guess} Known here: {', '.join(known)}."
