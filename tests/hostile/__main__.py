"""`python -m tests.hostile`: grade the corpus in a folder of its own and print every verdict.

Run it from the repository. With --report it writes what tests/test_hostile.py reads.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from grader.results.record import read_record

from . import arena
from .verdict import problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--sandbox", default="auto", help="as in `grader run`")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary one)")
    parser.add_argument("--report", type=Path, help="write the figures here as JSON")
    parser.add_argument("--only", nargs="*", help="names of attacks")
    options = parser.parse_args()
    if options.sandbox == "none":
        parser.error("without a sandbox the corpus would do what it tries, to this machine")
    if options.folder is not None:
        return run(options.folder.resolve(), options)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), options)


def run(folder: Path, options: argparse.Namespace) -> int:
    out, watch = folder / "results", folder / "watch"
    for made in (out, watch):
        made.mkdir(parents=True)
    secret = folder / "secret.hex"
    secret.write_text(arena.SECRET)
    secret.chmod(0o600)
    attacks = tuple(a for a in arena.ALL if not options.only or a.name in options.only)
    where = (folder / "class", out, secret, options.sandbox, options.jobs, watch)
    report = arena.grade(*where, attacks)
    if options.report is not None:
        options.report.write_text(json.dumps(asdict(report)))
    wrong = 0
    for attack in attacks:
        result, note = read_record(out, report.students[attack.name])
        found = problems(attack, result) if result else [note]
        wrong += bool(found)
        points = f"{result.total:g}" if result else "-"
        mark = "FAIL" if found else "ok"
        print(f"{mark:4} {attack.name:34} {result.state:8} {points:>5}  {attack.hopes}")
        for problem in found:
            print(f"       {problem!r}")
    for leftover in report.leftovers:
        print(f"FAIL {leftover!r}")
    print(f"{len(attacks)} attacks, {wrong} with another verdict; {result.sandbox_tier}")
    return 1 if wrong or report.leftovers else 0


if __name__ == "__main__":
    sys.exit(main())
