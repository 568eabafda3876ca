"""The sample class in examples/submissions against examples/expected.toml and the public tests."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

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
# Which part fails does not depend on hypothesis making the failing example small, which takes most
# of a run.
UNSHRUNK = """
import hypothesis

def pytest_sessionstart():
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "unshrunk", hypothesis.settings.get_profile("homework"), phases=phases
    )
    hypothesis.settings.load_profile("unshrunk")
"""
PART_LINE = re.compile(r"^Part (\d+) .*?([\d.]+) / ([\d.]+)\s", re.MULTILINE)


def _load_pack():
    spec = importlib.util.spec_from_file_location("pack", ROOT / "examples" / "pack.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pack = _load_pack()


def files_of(path: Path) -> dict[str, str]:
    """The Python files of a submission by name, from a folder, an archive or a notebook."""
    if path.suffix == ".ipynb":
        return _modules_of_notebook(path)
    if path.suffix == ".zip":
        contents = pack.unpack(path)
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


def path_of(name: str) -> Path:
    (path,) = (p for p in SUBMISSIONS.iterdir() if p.stem == name)
    return path


def run_public_tests(name: str, folder: Path) -> str:
    """The report of `pytest assignment/` on a submission, run as a package of its own."""
    package = f"sample_{name.replace('-', '_')}"
    (folder / package).mkdir()
    given = (ROOT / "assignment" / "transformer.py").read_text(encoding="utf-8")
    files = files_of(path_of(name)) | {"__init__.py": "", "transformer.py": given}
    for file, text in files.items():
        (folder / package / file).write_text(text, encoding="utf-8")
    (folder / "unshrunk.py").write_text(UNSHRUNK, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "assignment/", "--impl", package]
    command += ["-p", "unshrunk", "-p", "no:cacheprovider"]
    if name in LEFT_OUT:
        command += [f"--ignore=assignment/{LEFT_OUT[name][1]}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    environment |= {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", timeout=300
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def reports(request, tmp_path_factory) -> dict[str, Future]:
    """The reports of the submissions that are asked for, made side by side in the background."""
    asked = {
        item.callspec.params["name"]
        for item in request.session.items
        if "reports" in getattr(item, "fixturenames", ()) and hasattr(item, "callspec")
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {
            name: pool.submit(run_public_tests, name, tmp_path_factory.mktemp(name))
            for name in EXPECTED
            if name in asked
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", EXPECTED)
def test_public_tests_find_what_is_there(name, reports):
    report = reports[name].result()
    expected = EXPECTED[name]
    left_out = LEFT_OUT[name][0] if name in LEFT_OUT else None
    points = {int(part): (float(e), float(m)) for part, e, m in PART_LINE.findall(report)}
    assert set(points) == set(PART_BY_NUMBER) - {left_out}, report
    full = [part for part, (earned, most) in points.items() if earned == most]
    assert full == expected["passing_parts"], report
    losing = [part for part, (earned, most) in points.items() if earned < most]
    # Only the grader has trusted versions of the other parts.
    wrong = sorted(expected["failing_parts"] + expected.get("trusted_parts", []))
    assert losing == [p for p in wrong if p != left_out], report
    if left_out is None:
        assert expected.get("message", "") in report


def test_expected_lists_the_class():
    in_folder = sorted(p.stem for p in SUBMISSIONS.iterdir() if not p.name.startswith("."))
    assert sorted(EXPECTED) == in_folder


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
def test_submissions_are_students_own_and_whole(name):
    files = files_of(path_of(name))
    assert {f"{module}.py" for module in STUDENT_MODULES} <= set(files)
    text = "\n".join(files.values())
    assert "SOLUTION" not in text
    for function in MODULE_OF.keys() - GIVEN_FUNCTIONS.keys():
        assert re.search(rf"\b(def|class) {function}\b", text), f"{function} is missing"
    own = {f.read_text(encoding="utf-8") for f in (ROOT / "solution").glob("*.py")}
    assert not own & set(files.values())


def test_archive_is_packed_the_same_everywhere(tmp_path):
    archive = path_of("correct-concatenated")
    pack.pack(pack.unpack(archive), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_notebook_is_valid():
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path_of("notebook"), as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert "%matplotlib inline" in code
    assert any(
        output.output_type == "error"
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )
