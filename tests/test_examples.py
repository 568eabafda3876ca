"""The sample class against examples/expected.toml and the public tests, as its authors run them."""

import ast
import json
import re
import tomllib
import zipfile
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from public_run import PublicPoints, public_runs, write_package

from assignment.harness.parts import (
    GIVEN_FUNCTIONS,
    MODULE_OF,
    PART_BY_NUMBER,
    STUDENT_MODULES,
)

ROOT = Path(__file__).parents[1]
SUBMISSIONS = ROOT / "examples" / "submissions"
EXPECTED = tomllib.loads((ROOT / "examples" / "expected.toml").read_text(encoding="utf-8"))

# This part would hang in a run without the grader's clock: submission, part and its test file.
LEFT_OUT = {"infinite-loop": (7, "test_part7_sampling.py")}


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


@pytest.fixture(scope="module")
def public(request, sample_class, tmp_path_factory) -> Callable[[str], PublicPoints]:
    """Name -> its points in the public tests; all that are asked for start at once."""
    asked = {item.callspec.params["name"] for item in items_with("public", request.session)}
    folder = tmp_path_factory.mktemp("public")
    with public_runs() as run:

        def start(name: str) -> Future[PublicPoints]:
            package = f"sample_{name.replace('-', '_')}"
            write_package(files_of(path_of(name, sample_class)), folder / package)
            return run(folder, package, *LEFT_OUT.get(name, ())[1:])

        started = {name: start(name) for name in EXPECTED if name in asked}
        yield lambda name: started[name].result(timeout=600)


def items_with(fixture: str, session: pytest.Session) -> list[pytest.Item]:
    mine = (item for item in session.items if item.path == Path(__file__))
    return [item for item in mine if fixture in item.fixturenames]


@pytest.mark.parametrize("name", EXPECTED)
def test_public_tests_find_what_is_there(name, public):
    points = public(name)
    expected = EXPECTED[name]
    left_out = LEFT_OUT[name][0] if name in LEFT_OUT else None
    assert set(points.most) == set(PART_BY_NUMBER) - {left_out}
    assert points.full_parts == expected["passing_parts"], points.lost
    # Only the grader has trusted versions of the other parts.
    wrong = sorted(expected["failing_parts"] + expected.get("trusted_parts", []))
    assert points.losing_parts == [p for p in wrong if p != left_out], points.lost
    if left_out is None:
        told = " ".join(f"{test}: {message}" for test, message in points.lost.items())
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
