"""The sample class against examples/expected.toml, by its public tests, and its files."""

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from assignment.harness.parts import (
    PARTS,
    STUDENT_MODULES,
)
from grader.authoring import sample_class as maker
from grader.base.errors import GraderError
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
    assert {test.part for test in public} == {part.number for part in PARTS}
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
    assert every == [part.number for part in PARTS]
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
    for function in (name for part in PARTS for name in part.functions):
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


# --- The wrong ones are made as examples/class.toml says ---------


def recipe_of(text: str, folder: Path) -> maker.Recipe:
    """The recipe of a submission called `mine`."""
    file = folder / "class.toml"
    file.write_text(text, encoding="utf-8")
    return maker.wrong_submissions(file)["mine"]


def made(text: str, folder: Path) -> Path:
    return maker.make_submission("mine", recipe_of(text, folder), folder)


def an_edit(base="correct-einsum", file="gqa.py", old="if h % g:", new="if False:", more="") -> str:
    edit = f"[[mine.edit]]\nfile = '{file}'\nold = '{old}'\nnew = '{new}'\n{more}"
    return f"[mine]\nfrom = '{base}'\n{edit}"


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def test_the_class_is_what_is_expected(sample_class):
    names = [path.stem for path in sample_class.iterdir()]
    assert sorted(names) == sorted(EXPECTED)


def test_only_correct_submissions_are_kept_as_files():
    kept = {path.stem for path in maker.KEPT.iterdir()}
    assert kept == {name for name, entry in EXPECTED.items() if entry["full_marks"]}
    assert set(maker.wrong_submissions()) == set(EXPECTED) - kept


def of_a_correct_one() -> list[str]:
    recipes = maker.wrong_submissions().items()
    return [name for name, recipe in recipes if recipe.base != maker.FROM_STUBS]


@pytest.mark.parametrize("name", of_a_correct_one())
def test_only_the_files_that_are_named_differ(name, sample_class, tmp_path):
    recipe = maker.wrong_submissions()[name]
    base = maker.KEPT / recipe.base
    if not base.is_dir():
        zipfile.ZipFile(f"{base}.zip").extractall(tmp_path)
        base = tmp_path / "homework"
    right, wrong = texts(base), texts(sample_class / name)
    assert right.keys() == wrong.keys()
    changed = {file for file in wrong if wrong[file] != right[file]}
    assert len(changed) == 1
    assert recipe.bug or changed == {edit.file for edit in recipe.edit}


def test_stubs_are_stubs_but_for_what_is_taken(tmp_path):
    text = "[mine]\nfrom = 'stubs'\ntake = { correct-loops = ['rope.py'] }"
    own = texts(made(text, tmp_path))
    assert own["rope.py"] == texts(maker.KEPT / "correct-loops")["rope.py"]
    assert own["gqa.py"] == (ROOT / "assignment" / "gqa.py").read_text(encoding="utf-8")
    assert "transformer.py" not in own


def test_an_archive_is_a_style_too(tmp_path):
    own = made(an_edit("correct-concatenated", old="H % G != 0", new="False"), tmp_path)
    assert "if False:" in texts(own)["gqa.py"]
    assert not (own / "notes.txt").exists()


def test_an_edit_may_name_the_function(tmp_path):
    old = 'raise ValueError(f"{h} query heads, {g} kv heads")'
    inside = "in = 'grouped_query_attention'"
    own = texts(made(an_edit(old=old, new="pass", more=inside), tmp_path))
    assert own["gqa.py"].count("raise ValueError") == 1


def test_a_known_bug_is_put_into_a_style(tmp_path):
    style = texts(maker.KEPT / "correct-preallocated")
    own = texts(made("[mine]\nfrom = 'correct-preallocated'\nbug = 'scale-missing'", tmp_path))
    unscaled = style["attention.py"].replace("q = q / math.sqrt(q.shape[-1])", "q = q")
    assert own == style | {"attention.py": unscaled} != style


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (an_edit(base="correct-cuda"), "mine: there is no correct submission 'correct-cuda'"),
        (an_edit(base="notebook"), "mine: there is no correct submission 'notebook'"),
        (
            "[mine]\nfrom = 'correct-loops'\nbug = 'no-such'",
            "mine: there is no known bug 'no-such'",
        ),
        (an_edit(old="not there"), "mine: gqa.py: .*nowhere: 'not there'"),
        (an_edit(old="import"), "mine: gqa.py: .*2 times: 'import'"),
        (an_edit(file="cuda.py"), "mine has no file 'cuda.py'"),
        (an_edit(more="in = 'flash'"), "mine: gqa.py: there is no function, class or method flash"),
        (an_edit(more="inn = 'x'"), "mine: edit: 0: inn: Extra inputs"),
        ("[mine]\nfrom = 'stubs'\nbug = 'scale-missing'", "mine: stubs have no code for a bug"),
        (an_edit(base="stubs"), "mine: stubs have no code for a bug or an edit"),
        ("[mine]\nfrom = 'correct-loops'", "mine: give one of `bug`, `edit` and `take`"),
        ("[mine]\nfrom = 'stubs'", "mine: give one of"),
        (an_edit().replace("[[", "bug = 'scale-missing'\n[[", 1), "mine: give one of"),
        (
            "[mine]\nfrom = 'correct-loops'\ntake = { correct-einsum = ['gqa.py'] }",
            "mine: `take` is for stubs",
        ),
        (
            "[mine]\nfrom = 'stubs'\ntake = { correct-einsum = ['flash.py'] }",
            "mine: correct-einsum has no file 'flash.py'; its files are accounting.py",
        ),
        ("[mine]\nbug = 'scale-missing'", "mine: from: Field required"),
        ("[mine", "class.toml is no TOML"),
    ],
)
def test_what_cannot_be_made_is_said_by_name(text, said, tmp_path):
    with pytest.raises(GraderError, match=said):
        made(text, tmp_path)


def test_a_bug_that_does_not_fit_the_style_is_said_by_name(tmp_path):
    with pytest.raises(GraderError, match=r"scale-missing does not fit mine/attention\.py"):
        made("[mine]\nfrom = 'correct-einsum'\nbug = 'scale-missing'", tmp_path)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(GraderError, match="work in a clone of the project"):
        maker.wrong_submissions(tmp_path / "class.toml")


def run_command(*arguments: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "examples", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")


def test_the_command_writes_the_class_and_never_over_something(tmp_path):
    done = run_command(tmp_path / "class")
    assert done.stdout == f"{len(EXPECTED)} submissions in {tmp_path / 'class'}\n"
    assert len(list((tmp_path / "class").iterdir())) == len(EXPECTED)
    again = run_command(tmp_path / "class")
    assert again.returncode == 2
    assert again.stderr.startswith(f"{tmp_path / 'class'} is not an empty folder")
    assert run_command().returncode == 2


def test_a_file_in_the_place_of_the_folder_is_said(tmp_path):
    (tmp_path / "class").write_text("mine")
    with pytest.raises(GraderError, match="is not an empty folder"):
        maker.write_class(tmp_path / "class")
