"""Correct homework, written in many ways, gets every point: here and in the grader.

A folder of correct_variants/ holds only the modules that the variant writes differently; the rest
of it is the solution's, and `decoding.py` helps those that only have a cache of their own.
The whole submissions of examples/ are further styles: loops, einsum, float64 inside, a base class.
Variants that write different modules are tested together, as one submission; where such a
submission loses points, each of them is tried alone, so that a failure names the right one.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from public_run import PublicPoints, public_runs, write_package

from assignment.harness.parts import PARTS, STUDENT_MODULES

ROOT = Path(__file__).parent.parent
CORPUS = ROOT / "tests" / "correct_variants"
VARIANTS = sorted(path.name for path in CORPUS.iterdir() if any(path.glob("*.py")))
NOTEBOOK = "notebook"
# Names the package `assignment`, as only a student's own folder and the grader's are called.
NAMES_THE_PACKAGE = "absolute_imports"

BROKEN = "broken"
BREAKS = ("rope_complex", "rope.py", "np.exp(1j *", "np.exp(-1j *")


# --- putting a variant together ---------------------------------------------------------------


def own_files(variant: str) -> dict[str, str]:
    """What the variant writes itself: text by path inside the package."""
    folder = CORPUS / variant
    files = sorted(folder.rglob("*.py"))
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def solution_files() -> dict[str, str]:
    names = [f"{module}.py" for module in STUDENT_MODULES]
    return {name: (ROOT / "solution" / name).read_text("utf-8") for name in names}


Team = tuple[str, ...]


def teams(*left_out: str) -> list[Team]:
    """The variants in groups that write no file of the same name, but for those left out."""
    found: list[tuple[list[str], set[str]]] = []
    for variant in (name for name in VARIANTS if name not in left_out):
        files = set(own_files(variant))
        fitting = next((team for team in found if not team[1] & files), None)
        if fitting is None:
            found.append(([variant], files))
        else:
            fitting[0].append(variant)
            fitting[1].update(files)
    return [tuple(names) for names, _ in found]


def handed_in(team: Team) -> dict[str, str]:
    """The files of a whole submission."""
    if team == (NOTEBOOK,):
        return {"homework.ipynb": as_notebook(cells_of_notebook())}
    if team == (BROKEN,):
        source, name, right, wrong = BREAKS
        files = handed_in((source,))
        assert files[name].count(right) == 1
        return files | {name: files[name].replace(right, wrong)}
    files = solution_files()
    for variant in team:
        files |= own_files(variant)
    if any("from .decoding import" in text for text in files.values()):
        files["decoding.py"] = (CORPUS / "decoding.py").read_text("utf-8")
    return files


def cells_of_notebook() -> list[str]:
    """The solution's modules, one a cell and without imports from one another, then the own."""
    order = ("attention", "rope", "gqa", "kv_cache", "mla", "sampling", "accounting", "word2vec")
    modules = [solution_files()[f"{module}.py"] for module in (*order, "exercises")]
    given = [re.sub(r"^from \.(?!transformer).*\n", "", text, flags=re.M) for text in modules]
    cells = re.split(r"^# %%\n", own_files(NOTEBOOK)["cells.py"], flags=re.M)[1:]
    return given + [re.sub(r"^# (?=[%!])", "", cell, flags=re.M).strip() for cell in cells]


def as_notebook(cells: list[str]) -> str:
    """A notebook of format 4 with these code cells."""
    entry = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return json.dumps(
        {
            "cells": [entry | {"source": source.splitlines(keepends=True)} for source in cells],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 4,
        }
    )


def definitions_of_notebook() -> dict[str, str]:
    """A package that has the functions of a notebook: cells that do something are left out."""
    sources = [re.sub(r"^[%!].*\n?", "", cell, flags=re.M) for cell in cells_of_notebook()]
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    docstring = (ast.Expr,)
    kept = [
        "\n".join(line for line in source.splitlines() if "from __future__" not in line)
        for source in sources
        if all(isinstance(node, definitions) for node in ast.parse(source).body[1:])
        and isinstance(ast.parse(source).body[0], definitions + docstring)
    ]
    every = ", ".join(name for part in PARTS for name in part.functions)
    modules = {f"{module}.py": f"from .all_cells import {every}\n" for module in STUDENT_MODULES}
    future = "from __future__ import annotations\n\n"
    return modules | {"all_cells.py": future + "\n\n".join(kept)}


def write(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


# --- the public tests -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    """Variant -> its points in the public tests; all teams start at once."""
    folder = tmp_path_factory.mktemp("variants")
    with public_runs() as run:

        def start(team: Team) -> Future[PublicPoints]:
            package = f"variant_{'_and_'.join(team)}"
            files = definitions_of_notebook() if team == (NOTEBOOK,) else handed_in(team)
            write_package(files, folder / package)
            return run(folder, package)

        class_ = [*teams(NOTEBOOK, NAMES_THE_PACKAGE), (NOTEBOOK,), (BROKEN,)]
        started = {team: start(team) for team in class_}

        def points_of(name: str) -> PublicPoints:
            (team,) = (team for team in started if name in team)
            points = started[team].result(timeout=600)
            if points.lost and len(team) > 1:
                points = start((name,)).result(timeout=600)
            return points

        yield points_of


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != NAMES_THE_PACKAGE])
def test_full_marks_in_the_public_tests(public, name):
    points = public(name)
    assert points.lost == {}
    assert points.earned == points.most
    assert sum(points.most.values()) == 130


def test_full_marks_in_a_folder_called_assignment(tmp_path):
    """The whole homework folder with the variant written into it, as it is at home."""
    shutil.copytree(
        ROOT / "assignment",
        tmp_path / "assignment",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    write(handed_in((NAMES_THE_PACKAGE,)), tmp_path / "assignment")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
    )
    assert re.search(r"Total +130 / 130", done.stdout), done.stdout + done.stderr
    assert done.returncode == 0


def test_a_broken_copy_loses_points_in_the_public_tests(public):
    points = public(BROKEN)
    assert 3 in points.losing_parts
    assert any("test_part3_rope.py::test_rope[" in test for test in points.lost)
    assert not any("test_part1_attention.py" in test for test in points.lost)


# --- the grader -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(any_sandbox, tmp_path_factory):
    """Variant -> the record of its team, or its own where the team's shows anything amiss."""
    folder = tmp_path_factory.mktemp("class")
    records = grade([*teams(NOTEBOOK), (NOTEBOOK,), (BROKEN,)], folder / "teams")
    suspects = [team for team in records if len(team) > 1 and not is_clean(records[team])]
    records |= grade([(name,) for team in suspects for name in team], folder / "alone")
    return {name: record for team, record in records.items() for name in team}


def grade(class_: list[Team], folder: Path) -> dict:
    """The records of a class of such submissions."""
    from grader.grade_class import grade_class
    from grader.results.record import read_record

    if not class_:
        return {}
    names = {team: f"team{number}" for number, team in enumerate(class_)}
    for team, name in names.items():
        write(handed_in(team), folder / "class" / name)
    out, secret = folder / "results", folder.parent / "secret.hex"
    grade_class([folder / "class"], out, secret_file=secret, real_model=False, quiet=True)
    return {team: read_record(out, name)[0] for team, name in names.items()}


def is_clean(result) -> bool:
    full = result.state == "graded" and result.total == result.max_total
    return full and not getattr(result, "diagnoses", ())


@pytest.mark.parametrize("name", VARIANTS)
def test_full_marks_in_the_grader(graded, name):
    result = graded[name]
    assert result.state == "graded", result.reason
    assert {t.id: t.message for t in result.tests if t.state != "passed"} == {}
    assert result.total == result.max_total > 100
    assert len(getattr(result, "diagnoses", ())) == 0


def test_a_broken_copy_loses_points_in_the_grader(graded):
    result = graded[BROKEN]
    assert result.state == "graded"
    assert result.total < result.max_total


# --- the corpus itself ------------------------------------------------------------------------


def test_the_corpus_is_large():
    assert len(VARIANTS) >= 20


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_holds_its_own_modules_only(name):
    files = own_files(name)
    solution = solution_files()
    if name != NOTEBOOK:
        assert set(files) & set(solution), "no student module: nothing of it would be graded"
    for path, text in files.items():
        assert ast.get_docstring(ast.parse(text)) or name == NOTEBOOK
        assert text != solution.get(path)
        assert "SOLUTION" not in text
