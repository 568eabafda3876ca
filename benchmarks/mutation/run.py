"""Change the solution in one place at a time; which changes do the tests not notice?

    python benchmarks/mutation/run.py                       all modules, about 40 min on two cores
    python benchmarks/mutation/run.py --modules rope gqa    only these
    python benchmarks/mutation/run.py --sample 5            five mutants of each, to try it out

Every mutant meets the public tests, and those that survive meet the grader's tests on hidden
cases too. Mutants are made in copies of the project: the working tree stays as it is. Prints the
scores and writes every mutant's fate and the survivors' differences to results/mutation/.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

try:
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult
except ImportError:
    sys.exit("cosmic-ray makes the mutants and is not installed: pip install 'cosmic-ray>=8.7'")

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("benchmarks/mutation")
NEEDED = ("assignment", "grader", "reference_model", "solution", str(HERE), "pyproject.toml")
SESSION = "session.sqlite"
HIDDEN = "python benchmarks/mutation/hidden_check.py"
# A mutant that asks for a huge array fails at once on every machine, large or small.
ADDRESS_SPACE = 8 * 2**30


@dataclass(frozen=True)
class Mutant:
    """One change of one token, and what became of it."""

    id: str
    spec: MutationSpec
    fate: str  # killed, timeout, survived, or unfinished (cosmic-ray gave no result)
    diff: str

    @property
    def place(self) -> str:
        return f"{self.spec.module_path}:{self.spec.start_pos[0]}"


class Workshop:
    """Copies of the project, one a job, that share the list of all mutants."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.copies = [folder / f"copy-{number}" for number in range(jobs)]
        for copy in self.copies:
            _copy_project(copy)
            _write_hidden_config(copy / HERE)
        self._cosmic_ray(self.copies[0], "init", str(HERE / "public.toml"), SESSION)
        with use_db(self.copies[0] / SESSION) as db:
            items = db.work_items
        self.specs = {item.job_id: item.mutations[0] for item in items}

    def check_baseline(self, config: str) -> None:
        """Without a mutation the tests pass, or their verdict on mutants would mean nothing."""
        self._cosmic_ray(self.copies[0], "baseline", str(HERE / config))

    def run(self, config: str, wanted: Iterable[str]) -> list[Mutant]:
        """Let the tests of a config judge the wanted mutants, dealt out among the copies."""
        wanted = sorted(wanted)
        shares = [set(wanted[i :: len(self.copies)]) for i in range(len(self.copies))]
        first = self.copies[0] / SESSION
        sessions = [copy / f"{config}.sqlite" for copy in self.copies]
        for session, share in zip(sessions, shares, strict=True):
            shutil.copy(first, session)
            _skip(session, self.specs.keys() - share)
        running = [
            subprocess.Popen(_command("exec", str(HERE / config), session.name), cwd=session.parent)
            for session in sessions
        ]
        exit_codes = [process.wait() for process in running]
        if any(exit_codes):
            sys.exit("cosmic-ray failed; its message is above")
        return [
            self._mutant(job_id, result)
            for session, share in zip(sessions, shares, strict=True)
            for job_id, result in _results(session, share).items()
        ]

    def _mutant(self, job_id: str, result: WorkResult | None) -> Mutant:
        fate = "unfinished"
        if result is not None and result.worker_outcome == WorkerOutcome.NORMAL:
            fate = {TestOutcome.SURVIVED: "survived", TestOutcome.KILLED: "killed"}.get(
                result.test_outcome, "unfinished"
            )
            fate = "timeout" if result.output == "timeout" else fate
        return Mutant(job_id, self.specs[job_id], fate, (result and result.diff) or "")

    @staticmethod
    def _cosmic_ray(cwd: Path, *arguments: str) -> None:
        if subprocess.run(_command(*arguments), cwd=cwd).returncode != 0:
            sys.exit(f"cosmic-ray {arguments[0]} failed; its message is above")


def _write_hidden_config(folder: Path) -> None:
    """What cosmic-ray is given for the survivors: the grader's cases and tests, 3 to 8 s a run."""
    public = (folder / "public.toml").read_text(encoding="utf-8")
    hidden = re.sub(r"^test-command = .*", f'test-command = "{HIDDEN}"', public, flags=re.M)
    hidden = re.sub(r"^timeout = .*", "timeout = 80.0", hidden, flags=re.M)
    (folder / "hidden.toml").write_text(hidden, encoding="utf-8")


def _copy_project(copy: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", ".*")
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignore)
        else:
            shutil.copy(source, copy / name)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cosmic_ray.cli", *arguments]


def _skip(session: Path, job_ids: Iterable[str]) -> None:
    with use_db(session) as db:
        db.set_multiple_results(job_ids, WorkResult(WorkerOutcome.SKIPPED))


def _results(session: Path, share: set[str]) -> dict[str, WorkResult | None]:
    with use_db(session) as db:
        found = dict(db.results)
    return {job_id: found.get(job_id) for job_id in share}


def annotations(module: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a module's annotations stand: under `from __future__ import annotations` no code."""
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    found = [
        part
        for node in nodes
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
    ]
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in found]


def in_annotation(spec: MutationSpec) -> bool:
    spans = annotations(ROOT / spec.module_path)
    return any(start <= spec.start_pos < end for start, end in spans)


def sampled(chosen: set[str], specs: dict[str, MutationSpec], number: int) -> set[str]:
    """`number` of the chosen mutants of each module, spread over its lines."""
    of_module = defaultdict(list)
    for job_id in sorted(chosen, key=lambda job_id: specs[job_id].start_pos):
        of_module[specs[job_id].module_path].append(job_id)
    return {ids[len(ids) * i // number] for ids in of_module.values() for i in range(number)}


def report(public: list[Mutant], hidden: list[Mutant], left_out: int, out: Path) -> None:
    """Print both scores and write the fates."""
    after_hidden = {mutant.id: mutant.fate for mutant in hidden}
    final = {mutant.id: after_hidden.get(mutant.id, mutant.fate) for mutant in public}
    table = Table("module", "mutants", "killed", "timeout", "survived", "hidden: survived")
    for module in [*sorted({m.spec.module_path.stem for m in public}), "all"]:
        rows = [m for m in public if module in ("all", m.spec.module_path.stem)]
        fates = Counter(m.fate for m in rows)
        still = sum(final[m.id] == "survived" for m in rows)
        counts = (len(rows), fates["killed"], fates["timeout"], fates["survived"], still)
        table.add_row(module, *map(str, counts))
    console = Console()
    console.print(table)
    for name, fates in (("public", [m.fate for m in public]), ("public + hidden", final.values())):
        detected = sum(fate in ("killed", "timeout") for fate in fates)
        console.print(f"{name}: {detected} of {len(public)} killed, {detected / len(public):.1%}")
    console.print(f"unfinished: {sum(fate == 'unfinished' for fate in final.values())}")
    console.print(f"left out, in annotations that are never evaluated: {left_out}")
    _write(public, final, out)
    console.print(f"survivors: {out / 'survivors.diff'}")


def _write(public: list[Mutant], final: dict[str, str], out: Path) -> None:
    """Every mutant's fate in mutants.json, what the survivors changed in survivors.diff."""
    out.mkdir(parents=True, exist_ok=True)
    public = sorted(public, key=lambda m: (str(m.spec.module_path), m.spec.start_pos))
    fates = [
        {
            "place": m.place,
            "operator": m.spec.operator_name,
            "occurrence": m.spec.occurrence,
            "public": m.fate,
            "public_and_hidden": final[m.id],
        }
        for m in public
    ]
    (out / "mutants.json").write_text(json.dumps(fates, indent=1), encoding="utf-8")
    survivors = [m for m in public if m.fate == "survived"]
    texts = [f"# {m.place}, with hidden cases: {final[m.id]}\n{m.diff}\n" for m in survivors]
    (out / "survivors.diff").write_text("\n".join(texts), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", nargs="+", help="such as rope gqa (default: all)")
    parser.add_argument("--sample", type=int, help="only so many mutants of each module")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "mutation")
    options = parser.parse_args()

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    # The configs say `python`: this one, with a single thread a job.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        workshop = Workshop(Path(folder), options.jobs)
        chosen = {
            job_id
            for job_id, spec in workshop.specs.items()
            if not options.modules or spec.module_path.stem in options.modules
        }
        if not chosen:
            sys.exit(f"no mutants in {options.modules}; modules are called as in solution/: rope")
        if options.sample:
            chosen = sampled(chosen, workshop.specs, options.sample)
        left_out = {job_id for job_id in chosen if in_annotation(workshop.specs[job_id])}
        for config in ("public.toml", "hidden.toml"):
            workshop.check_baseline(config)
        public = workshop.run("public.toml", chosen - left_out)
        survivors = [mutant.id for mutant in public if mutant.fate == "survived"]
        hidden = workshop.run("hidden.toml", survivors)
    report(public, hidden, len(left_out), options.out)
    print(f"{(time.monotonic() - started) / 60:.0f} min")


if __name__ == "__main__":
    main()
