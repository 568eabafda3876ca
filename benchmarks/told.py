"""What a failing student is told: is it true, and enough to find the line?

    python -m benchmarks.told [NAME ...]

More than sixty bugs of five kinds, each put into the solution: known ones of the catalogue, those
of it that cite a public report, known ones made unknown (as in benchmarks.names), two at once, and
invented ones (told.toml). The public tests run on each as at home, and the table says of what they
print whether

    caught  any test fails
    part    what is named, or fails first and need not wait for another part, is of the bug's part
    name    right, none, or false: a known bug that it is not
    line    the way to the line is there: the bug is named rightly, or a failure that is printed in
            full is of the changed function, or a line of that function is in it

Without names all run. The exit code is 1 where a name is false.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import random
import re
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assignment.harness.at_home import AT_HOME
from assignment.harness.known_bugs import StoredSignatures
from assignment.harness.outcome import FAILED
from assignment.harness.parts import PARTS
from assignment.harness.summary import Summary
from benchmarks.names import EARLY_PARTS, WAYS, perturbed, required_bugs
from grader.known_bugs import Bug, bug_named, patched_modules
from grader.known_bugs.patch import Change, apply_changes

ROOT = Path(__file__).parent.parent
INVENTED = Path(__file__).with_suffix(".toml")
OF_EACH_KIND = 12
_MODULE_OF = {name: part.module for part in PARTS for name in part.functions}


@dataclass(frozen=True)
class Trial:
    """Something wrong, and where.

    Attributes:
        texts: modules of the solution with the bug in them.
        functions: those that are changed, as `Change` names them.
        known: names that are right.
    """

    kind: str
    name: str
    parts: frozenset[int]
    texts: dict[str, str]
    functions: frozenset[str]
    known: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Row:
    """What was told of a trial."""

    trial: Trial
    caught: bool
    part: bool
    name: str
    line: bool


def trials() -> list[Trial]:
    """All of them, by kind."""
    draw = random.Random(0)
    bugs = required_bugs()
    reported = [bug for bug in bugs if any("#" in cite for cite in bug.cites)]
    known = draw.sample([bug for bug in bugs if bug not in reported], OF_EACH_KIND)
    early = draw.sample([bug for bug in bugs if bug.part in EARLY_PARTS], OF_EACH_KIND)
    unknown = [perturbed(bug, way) for bug, way in zip(early, itertools.cycle(WAYS), strict=False)]
    return [
        *(_of_bugs("known", bug) for bug in known),
        *(_of_bugs("reported", bug) for bug in draw.sample(reported, OF_EACH_KIND)),
        *(_of_bugs("perturbed", bug, known=False) for bug in unknown),
        *(_of_bugs("combined", *pair) for pair in _pairs(draw)),
        *_invented(),
    ]


def _of_bugs(kind: str, *bugs: Bug, known: bool = True) -> Trial:
    texts: dict[str, str] = {}
    for bug in bugs:
        texts |= patched_modules(bug, ROOT / "solution")
    return Trial(
        kind,
        " and ".join(bug.name for bug in bugs),
        frozenset(bug.part for bug in bugs),
        texts,
        frozenset(change.where for bug in bugs for change in bug.change),
        frozenset(bug.name for bug in bugs) if known else frozenset(),
    )


def _pairs(draw: random.Random) -> Iterator[tuple[Bug, Bug]]:
    """Bugs of two parts, in modules of their own."""
    found = 0
    while found < OF_EACH_KIND:
        one, other = draw.sample(required_bugs(), 2)
        if one.part != other.part and not one.changes.keys() & other.changes.keys():
            found += 1
            yield one, other


def _invented() -> Iterator[Trial]:
    for name, content in tomllib.loads(INVENTED.read_text(encoding="utf-8")).items():
        changes = [Change.model_validate(change) for change in content["change"]]
        functions = frozenset(change.where for change in changes)
        module = _MODULE_OF[changes[0].where.partition(".")[0]]
        source = (ROOT / "solution" / f"{module}.py").read_text(encoding="utf-8")
        texts = {module: apply_changes(source, changes)}
        yield Trial("invented", name, frozenset({content["part"]}), texts, functions)


# ---------------------------------------------------------------------------------------- running


class _Keeper:
    """A pytest plugin that keeps the summary of the run."""

    summary = Summary(())

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.summary = session.config.pluginmanager.get_plugin(AT_HOME).summary


def run(trial: Trial, folder: Path, number: int) -> Row:
    """Put a trial to the public tests, in this process."""
    package = f"told_{number}"
    shutil.copytree(ROOT / "solution", folder / package)
    for module, text in trial.texts.items():
        (folder / package / f"{module}.py").write_text(text, encoding="utf-8")
    keeper, printed = _Keeper(), io.StringIO()
    importlib.invalidate_caches()
    options = [f"--impl={package}", "-p", "no:cacheprovider", "--lang", "en", "--call-seconds", "5"]
    with contextlib.redirect_stdout(printed):
        pytest.main([*_files(trial.parts), f"--rootdir={ROOT}", *options], plugins=[keeper])
    return _row(trial, keeper.summary, printed.getvalue())


def _files(parts: frozenset[int]) -> list[str]:
    """The tests in which functions of these parts run; the others see nothing of the bug."""
    reached_by = StoredSignatures().reached_by
    numbers = [part.number for part in PARTS if reached_by(part.number) & parts]
    assignment = ROOT / "assignment"
    return [str(path) for n in numbers for path in assignment.glob(f"test_part{n}_*.py")]


def _row(trial: Trial, told: Summary, output: str) -> Row:
    named = [f for f in told.findings if f.alternatives]
    is_known = [any(set(bugs) <= trial.known for bugs in f.alternatives) for f in named]
    # An unknown bug that computes what a known one of its part does is told the truth.
    is_same = [
        bool(trial.parts & {bug_named(name).part for bugs in f.alternatives for name in bugs})
        and not trial.known
        for f in named
    ]
    right = [a or b for a, b in zip(is_known, is_same, strict=True)]
    name = "none" if not named else "right" if all(right) else "false"
    return Row(
        trial,
        any(o.state == FAILED for o in told.outcomes),
        _accused(told) <= trial.parts,
        name,
        name == "right" or _leads_to(trial, output),
    )


def _accused(told: Summary) -> set[int]:
    """The parts of the names, or the first part that fails and need not wait for another."""
    names = {name for f in told.findings for bugs in f.alternatives for name in bugs}
    if names:
        return {bug_named(name).part for name in names}
    waiting = {f.part for f in told.findings if f.mend_first}
    failing = {o.grading.part for o in told.outcomes if o.state == FAILED} - waiting
    return {min(failing)} if failing else set()


def _leads_to(trial: Trial, output: str) -> bool:
    functions = {where.partition(".")[0] for where in trial.functions}
    sections = {p.section_of(f) for p in PARTS for f in functions if f in p.functions}
    failures = re.findall(r"^✗ ([\d.]+)  ", output, re.MULTILINE)
    called = {where.rpartition(".")[2] for where in trial.functions}
    in_chain = re.findall(r"^ +\w+\.py:\d+ in (\w+):", output, re.MULTILINE)
    return bool(sections & set(failures) or called & set(in_chain))


def main(arguments: list[str]) -> int:
    """Print the table and its sums."""
    wanted = trials()
    if arguments:
        wanted = [trial for trial in wanted if trial.name in arguments]
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        rows = []
        for number, trial in enumerate(wanted):
            rows.append(run(trial, Path(folder), number))
            print(_line(rows[-1]), flush=True)
    print(*_sums(rows), sep="\n")
    return 1 if any(row.name == "false" for row in rows) else 0


def _line(row: Row) -> str:
    marks = [{True: "yes", False: "no"}[mark] for mark in (row.caught, row.part, row.line)]
    caught, part, line = marks
    return f"{row.trial.kind:<10}{row.trial.name:<60}{caught:>4}{part:>4} {row.name:<6}{line}"


def _sums(rows: Iterable[Row]) -> list[str]:
    rows = list(rows)
    names = Counter(row.name for row in rows)
    return [
        f"\n{len(rows)} bugs: caught {sum(row.caught for row in rows)}, the part is right in "
        f"{sum(row.part for row in rows)}, the line is told of {sum(row.line for row in rows)};",
        f"names: {names['right']} right, {names['none']} none, {names['false']} false",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
