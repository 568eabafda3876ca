"""The sample class against examples/expected.toml, by its public tests, and its files."""

import ast
import json
import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from assignment.harness.parts import (
    GIVEN_FUNCTIONS,
    MODULE_OF,
    PART_BY_NUMBER,
    STUDENT_MODULES,
)
from grader.results.record import read_record

ROOT = Path(__file__).parents[1]
SUBMISSIONS = ROOT / "examples" / "submissions"
EXPECTED = tomllib.loads((ROOT / "examples" / "expected.toml").read_text(encoding="utf-8"))


def files_of(path: Path) -> dict[str, str]:
    """The Python files of a submission by name, from a folder, an archive or a notebook."""
    if path.suffix == ".ipynb":
        return _modules_of_notebook(path)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            contents = {Path(name).name: archive.read(name) for name in archive.namelist()}
    else:
        contents = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    return {n: content.decode() for n, content in contents.items() if n.endswith(".py")}


def _modules_of_notebook(path: Path) -> dict[str, str]:
    """Its imports and definitions as one namespace behind every module; demo cells are left out."""
    sources = [
        "".join(line for line in cell["source"] if not line.startswith(("%", "!")))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    ]
    definitions = (ast.Import, ast.FunctionDef, ast.ClassDef)
    kept = [s for s in sources if all(isinstance(n, definitions) for n in ast.parse(s).body)]
    namespace = {"all_cells.py": "\n\n".join(kept)}
    return namespace | {f"{name}.py": "from .all_cells import *\n" for name in STUDENT_MODULES}


def path_of(name: str, folder: Path) -> Path:
    (path,) = (p for p in folder.iterdir() if p.stem == name)
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_public_tests_find_what_is_there(name, graded_class):
    """Without the trusted versions of other parts, which only the grader has."""
    result, note = read_record(graded_class.results, name)
    assert result is not None, note
    public = [test for test in result.tests if test.visibility == "public"]
    assert {test.part for test in public} == set(PART_BY_NUMBER)
    lost = [test for test in public if test.points < test.max_points or test.with_trusted_parts]
    expected = EXPECTED[name]
    wrong = sorted(expected["failing_parts"] + expected.get("trusted_parts", []))
    told = " ".join(f"{test.id}: {test.own_message or test.message}" for test in lost)
    assert sorted({test.part for test in lost}) == wrong, told
    assert expected.get("message", "") in told


@pytest.mark.parametrize("name", EXPECTED)
def test_expected_is_consistent(name):
    entry = EXPECTED[name]
    trusted = entry.get("trusted_parts", [])
    every = sorted(entry["passing_parts"] + entry["failing_parts"] + trusted)
    assert every == sorted(PART_BY_NUMBER)
    assert entry["full_marks"] == (not entry["failing_parts"])
    assert entry["verdict"].endswith(".")
    assert entry["state"] == "graded"
    assert "message" not in entry or entry["failing_parts"]


@pytest.mark.parametrize("name", EXPECTED)
def test_submissions_are_students_own_and_whole(name, sample_class):
    files = files_of(path_of(name, sample_class))
    assert {f"{module}.py" for module in STUDENT_MODULES} <= set(files)
    text = "\n".join(files.values())
    assert "SOLUTION" not in text
    for function in MODULE_OF.keys() - GIVEN_FUNCTIONS.keys():
        assert re.search(rf"\b(def|class) {function}\b", text), f"{function} is missing"
    own = {f.read_text(encoding="utf-8") for f in (ROOT / "solution").glob("*.py")}
    assert not own & set(files.values())


def test_notebook_is_valid():
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path_of("notebook", SUBMISSIONS), as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "%matplotlib inline" in code
    assert any(
        output.output_type == "error"
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )
