"""`make matrix`: what a student reads is the same with every pytest that the bundle allows.

Makes an environment for the oldest allowed pytest, numpy and hypothesis, for the oldest pytest
beside the newest of the others, and for the newest release of each minor version of pytest since.
In each runs the homework unfilled, with known bugs and finished, and compares the whole output.
The environments stay in build/matrix.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from grader.known_bugs.catalogue import bug_named
from grader.known_bugs.patch import patched_modules

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "matrix"
BUGS = ("rope-missing-minus", "position-zero")
Set = dict[str, str]  # version by package


class NoIndex(Exception):
    """Packages cannot be fetched here."""


def main() -> int:
    """Exit code: 1 where an output differs, 0 also where nothing can be fetched."""
    submissions = write_submissions(FOLDER / "submissions")
    try:
        sets = chosen_sets()
        with ThreadPoolExecutor(2) as pool:
            outputs = list(pool.map(lambda versions: outputs_with(versions, submissions), sets))
    except NoIndex as problem:
        print(f"make matrix: left out, packages cannot be fetched here ({problem})")
        return 0
    n_different = 0
    for versions, output in zip(sets, outputs, strict=True):
        same = output == outputs[0]
        n_different += not same
        print(f"{_name(versions):60} {'same' if same else 'DIFFERS'}")
        if not same:
            lines = [outputs[0].splitlines(), output.splitlines()]
            print("\n".join(difflib.unified_diff(*lines, "the newest", _name(versions), n=1)))
    return int(n_different > 0)


def chosen_sets() -> list[Set]:
    """The newest of everything first, then back to the oldest."""
    allowed = {}
    for requirement in _requirements():
        found = _versions(requirement.name)
        allowed[requirement.name] = sorted(v for v in found if v in requirement.specifier)
    newest = {name: str(versions[-1]) for name, versions in allowed.items()}
    oldest = {name: str(versions[0]) for name, versions in allowed.items()}
    minors = [list(group)[-1] for _, group in groupby(allowed["pytest"], lambda v: v.release[:2])]
    middle = [newest | {"pytest": str(version)} for version in reversed(minors)]
    beside = newest | {"pytest": oldest["pytest"]}
    return list({_name(s): s for s in [*middle, beside, oldest]}.values())


def _requirements() -> list[Requirement]:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [Requirement(text) for text in content["project"]["dependencies"]]


def _versions(package: str) -> list[Version]:
    """The releases for this Python, by pip."""
    said = _pip("index", "versions", "--only-binary=:all:", package)
    listed = re.search(r"Available versions: (.*)", said)
    if not listed:
        raise NoIndex(f"pip names no version of {package}")
    return [Version(text) for text in listed[1].split(", ")]


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NoIndex((done.stderr.strip().splitlines() or ["pip said nothing"])[-1])
    return done.stdout


def _name(versions: Set) -> str:
    return " ".join(f"{name}-{version}" for name, version in sorted(versions.items()))


def python_with(versions: Set) -> Path:
    """The interpreter of an environment that holds these versions and what they need."""
    venv = FOLDER / _name(versions).replace(" ", "_")
    python = venv / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = venv / "installed"
    if not done.exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        wanted = [f"{name}=={version}" for name, version in versions.items()]
        _pip("--python", str(python), "install", "--quiet", "--only-binary=:all:", *wanted)
        done.touch()
    return python


def write_submissions(folder: Path) -> dict[str, Path]:
    """The homework as it is handed out, with known bugs, and finished: a package each."""
    shutil.rmtree(folder, ignore_errors=True)
    made = {}
    for name in ("unfilled", "wrong", "finished"):
        made[name] = folder / name
        ours = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "assignment", made[name] / "assignment", ignore=ours)
        if name != "unfilled":
            for stub in (made[name] / "assignment").glob("*.py"):
                if (solved := ROOT / "solution" / stub.name).exists():
                    shutil.copy(solved, stub)
    for bug in map(bug_named, BUGS):
        for module, text in patched_modules(bug, made["wrong"] / "assignment").items():
            (made["wrong"] / "assignment" / f"{module}.py").write_text(text, encoding="utf-8")
    return made


def outputs_with(versions: Set, submissions: dict[str, Path]) -> str:
    """What the student's command prints for each submission, and its exit code."""
    python = python_with(versions)
    texts = []
    for name, folder in submissions.items():
        command = [python, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"]
        environment = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
        )
        texts.append(f"=== {name}, exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return "\n".join(texts)


if __name__ == "__main__":
    sys.exit(main())
