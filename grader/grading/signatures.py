"""What the public tests see of each known bug, for the students' own runs.

python -m grader.grading.signatures            write it to the bundle
python -m grader.grading.signatures --check    only say whether that is stale (exit code 1)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from assignment.harness.cases import Cases
from assignment.harness.diagnosis import PASSED, SAME, Seen, Signatures, difference
from assignment.harness.known_bugs import KNOWN_BUGS_FILE, as_seen
from assignment.harness.points import grading_of
from grader.diagnosis.lookup import LiveSignatures, is_comparable, reached_parts, test_name
from grader.grading.suite import collect_public
from grader.known_bugs import Bug, all_bugs


def signature_table(
    items: Iterable[pytest.Function], case_sets: dict[str, Cases], live: Signatures
) -> dict:
    """What each public test sees of each bug, passes left out, and what is said of the bugs.

    Args:
        items: all public tests; of those that are not compared it holds what they reach.
    """
    items = list(items)
    compared: dict[str, list[str]] = {}
    signatures: dict[str, dict[str, Seen]] = {}
    for item in filter(is_comparable, items):
        test = test_name(item)
        if grading := grading_of(item):
            compared.setdefault(str(grading.part), []).append(test)
        seen = {bug.name: live.seen(test, (bug.name,)) for bug in all_bugs()}
        signatures[test] = {name: s for name, s in seen.items() if s != PASSED}
    return {
        "bugs": [_told(bug) for bug in all_bugs()],
        "compared": compared,
        "reached": {test_name(item): reached_parts(item, case_sets) for item in items},
        "signatures": signatures,
    }


def _told(bug: Bug) -> dict:
    return bug.model_dump(include={"name", "part", "summary", "explanation", "hints", "cites"})


def write_table(table: dict, path: Path = KNOWN_BUGS_FILE) -> None:
    """Write what the bundle holds of the catalogue: texts and prints, no code."""
    rounded = {
        test: {name: _rounded(seen) for name, seen in seen_of.items()}
        for test, seen_of in table["signatures"].items()
    }
    content = {**table, "signatures": rounded}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def _rounded(seen: Seen) -> Seen:
    # A digit more than is compared: the file is then the same on every machine but for chance.
    return seen if isinstance(seen, str) else tuple(round(number, 12) for number in seen)


def stale(fresh: dict, path: Path = KNOWN_BUGS_FILE) -> list[str]:
    """Where the file holds something else than signature_table gives now: tests and bugs."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if json.loads(json.dumps(fresh["bugs"])) != stored.get("bugs"):
        return ["names and texts of the bugs"]
    if (fresh["compared"], fresh["reached"]) != (stored["compared"], stored["reached"]):
        return ["the tests, and the parts that they reach"]
    theirs, ours = stored["signatures"], fresh["signatures"]
    found = sorted(theirs.keys() ^ ours.keys())
    for test in sorted(theirs.keys() & ours.keys()):
        kept = {name: as_seen(seen) for name, seen in theirs[test].items()}
        for name in sorted(kept.keys() | ours[test].keys()):
            one, other = kept.get(name, PASSED), ours[test].get(name, PASSED)
            if difference(one, other) >= SAME:
                found.append(f"{name} in {test}")
    return found


def main(arguments: list[str]) -> int:
    """Write the signatures of the public tests, or with --check only say whether they are stale."""
    items, case_sets = collect_public()
    items += collect_public(part12=True)[0]
    live = LiveSignatures(filter(is_comparable, items), case_sets)
    table = signature_table(items, case_sets, live)
    if "--check" in arguments:
        if found := stale(table):
            n, first = len(found), ", ".join(found[:3])
            print(f"{n} signatures are stale ({first}): run python -m grader.grading.signatures")
        return 1 if found else 0
    write_table(table)
    size = KNOWN_BUGS_FILE.stat().st_size / 1024
    print(f"{KNOWN_BUGS_FILE.name}: {len(all_bugs())} known bugs, {size:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
