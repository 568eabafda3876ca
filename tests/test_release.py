"""The students' bundle: what is in it and what must not be, and that it works alone."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner

from assignment.harness.parts import PARTS, STUDENT_MODULES
from grader.authoring import golden, skeleton
from grader.base.errors import GraderError
from grader.cli import main
from grader.grading.submission import run_suite
from grader.grading.suite import Suite
from grader.intake.course import Course
from grader.intake.prepare import prepare
from grader.intake.submissions import find_submissions
from grader.integrations.release import bundle, notebook, place, project, sources
from grader.integrations.release.archive import File, zip_bytes
from grader.integrations.release.leaks import leaks
from grader.integrations.release.place import MANIFEST, write_release
from grader.sandbox import Limits

ROOT = Path(__file__).resolve().parents[1]
NAME = "kv-cache-homework"
SECRET = bytes(range(32))
LONG_ENOUGH_TO_GIVE_AWAY = 25


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    """The folder that `grader release` wrote."""
    out = tmp_path_factory.mktemp("release") / "out"
    result = CliRunner().invoke(main.app, ["release", str(out)])
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture(scope="module")
def bundled(released) -> dict[str, bytes]:
    """The files in the zip archive by their path."""
    with zipfile.ZipFile(released / f"{NAME}.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# ------------------------------------------------------------------------------------ what is in it


def test_folder_and_archive_hold_the_same(released, bundled):
    folder = {
        path.relative_to(released).as_posix(): path.read_bytes()
        for path in (released / NAME).rglob("*")
        if path.is_file()
    }
    assert folder == bundled


def test_it_holds_what_a_student_needs_and_nothing_else(bundled):
    inside = {name.removeprefix(f"{NAME}/") for name in bundled}
    top = {name for name in inside if "/" not in name}
    assert top == {
        *("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"),
        *("homework.ipynb", "run_tests.py"),
    }
    assert {name.partition("/")[0] for name in inside - top} == {"assignment", ".devcontainer"}
    for module in STUDENT_MODULES:
        stub = bundled[f"{NAME}/assignment/{module}.py"].decode()
        assert "raise NotImplementedError(" in stub
    for part in PARTS:
        assert any(f"/test_part{part.number}_" in name for name in inside)
    assert {"assignment/README.md", "assignment/golden/cases.safetensors"} <= inside
    assert {f"assignment/harness/{name}.toml" for name in ("zh", "hints")} <= inside
    strange = [n for n in inside if re.search(r"\.pyc|__pycache__|/\.|secret|hidden|grader", n)]
    assert strange == []


def test_links_of_the_readme_lead_somewhere(bundled):
    text = bundled[f"{NAME}/README.md"].decode()
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) >= 3
    assert [target for target in targets if f"{NAME}/{target}" not in bundled] == []
    for part in PARTS:
        assert ", ".join(part.functions) in bundled[f"{NAME}/CHANGELOG.md"].decode()


def test_generated_files_come_without_the_repositorys_mark(bundled):
    for name, source in skeleton.generated_files().items():
        if (path := f"{NAME}/assignment/{name}") in bundled:
            assert bundled[path].decode() == source
    assert not any("make assignment" in text for _, text in texts(bundled))


def test_the_documents_say_how_large_it_is(released, bundled):
    size = (released / f"{NAME}.zip").stat().st_size / 2**20
    document = " ".join((ROOT / "docs" / "release.md").read_text(encoding="utf-8").split())
    assert f"({size:.1f} MiB, {len(bundled)} files)" in document


def test_no_solution_and_no_reference(bundled):
    given = "\n".join(skeleton.generated_files().values())
    secret_lines = set()
    for file in (ROOT / "solution").glob("*.py"):
        inside = False
        for line in map(str.strip, file.read_text(encoding="utf-8").splitlines()):
            if line in ("### BEGIN SOLUTION", "### END SOLUTION"):
                inside = "BEGIN" in line
            elif inside and len(line) > LONG_ENOUGH_TO_GIVE_AWAY and line not in given:
                secret_lines.add(line)
    assert len(secret_lines) > 100
    for file in (ROOT / "reference_model").glob("*.py"):
        for line in map(str.strip, file.read_text(encoding="utf-8").splitlines()):
            if len(line) > 45 and line not in given:
                secret_lines.add(line)
    assert len(secret_lines) > 300
    found = [(n, line) for n, text in texts(bundled) for line in secret_lines if line in text]
    assert found == []


def test_nothing_of_the_graders_side(bundled):
    """No import of it, no path on this machine, no secret of 64 digits but checksums."""
    given = "\n".join(skeleton.generated_files().values())
    patterns = [
        r"^\s*(from|import) (grader|reference_model|solution)\b",
        r"\bgrader/",
        "PUBLIC_SEED",
    ]
    patterns += [re.escape(str(ROOT)), re.escape(sys.prefix), r"/root/|/home/\w|/tmp/"]
    found = [
        (name, match[0])
        for name, text in texts(bundled)
        for pattern in (*patterns, r"\b[0-9a-f]{64}\b")
        for match in re.finditer(pattern, text, re.M)
        if match[0] not in given
    ]
    assert found == []


def test_no_hidden_case(bundled):
    content = b"".join(bundled.values())
    # The search works: it finds what is public.
    assert found_in(content, golden.make_cases(golden.PUBLIC_SEED)) > 100
    seed = golden.PUBLIC_SEED + 1
    assert found_in(content, golden.make_cases(seed, with_hidden=True)) == 0


def found_in(content: bytes, cases: dict) -> int:
    """How many arrays of random numbers in `cases` begin like something in `content`."""
    arrays = [
        value
        for fields in cases.values()
        for value in fields.values()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size >= 8
    ]
    starts = {np.ascontiguousarray(array).tobytes()[:32] for array in arrays}
    return sum(start in content for start in starts if len(set(start)) > 8)


def texts(bundled: dict[str, bytes]) -> list[tuple[str, str]]:
    return [(name, content.decode("utf-8", "replace")) for name, content in bundled.items()]


# -------------------------------------------------------------------------------------- same bytes


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    """The sources elsewhere, with other dates and permissions."""
    root = tmp_path_factory.mktemp("elsewhere") / "a clone"
    root.mkdir()
    for package in project.PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(
            ROOT / package, root / package, ignore=ignored, copy_function=shutil.copyfile
        )
    for name in ("pyproject.toml", "LICENSE", "README.md", ".gitignore"):
        shutil.copyfile(ROOT / name, root / name)
    for number, path in enumerate(sorted(root.rglob("*"))):
        if path.is_file():
            path.chmod(0o600)
            os.utime(path, (1e9 + 1000 * number, 1e9 + 1000 * number))
    return root


def test_same_sources_give_the_same_bytes(released, copied, tmp_path):
    run_release(copied, tmp_path / "out", umask=0o077, LC_ALL="C", TZ="Asia/Tokyo")
    archives = [(place / f"{NAME}.zip").read_bytes() for place in (released, tmp_path / "out")]
    assert hashlib.sha256(archives[0]).hexdigest() == hashlib.sha256(archives[1]).hexdigest()
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out" / NAME).rglob("*")}
    assert modes == {0o644, 0o755}


def test_an_installed_package_releases_the_same(released, copied, tmp_path):
    """Without a clone: what pyproject.toml and LICENSE tell comes from the metadata."""
    site = tmp_path / "site"
    pip("install", "--no-deps", "--target", str(site), str(copied))
    run_release(site, tmp_path / "out", PYTHONPATH=str(site))
    installed, cloned = (tmp_path / "out" / NAME, released / NAME)
    for path in cloned.rglob("*"):
        if path.is_file():
            same = installed / path.relative_to(cloned)
            assert same.read_bytes() == path.read_bytes(), path.name
    # What graders install is the same, too, but for how pip writes it.
    code = """if True:
        from grader.integrations.release import gradescope as g
        print(g.requirements(g.load_project()))"""
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(root)},
            cwd=root,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for root in (site, copied)
    ]
    installed, cloned = ({Requirement(line) for line in text.split("\n") if line} for text in told)
    assert installed == cloned and len(installed) > 8


def run_release(root: Path, out: Path, umask: int = 0o022, **environment: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7", **environment}
    code = f"import os; os.umask({umask}); from grader.cli.main import main; main()"
    command = [sys.executable, "-c", code, "release", str(out)]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{NAME}.zip" in done.stdout.replace("\n", "")


def pip(*arguments: str, python: str = sys.executable) -> None:
    """Run pip; skip where it reaches no package index."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, *arguments, *quiet],
        env={**os.environ, "PIP_NO_COMPILE": "1", "PIP_RETRIES": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and re.search(
        "No matching distribution|connection|No module named pip", done.stderr
    ):
        pytest.skip("pip reaches no package index here")
    assert done.returncode == 0, done.stderr


def test_the_archive_sets_dates_order_and_permissions():
    files = {"b": File(b"2", 0o755), "a/c": File(b"1")}
    assert zip_bytes(files) == zip_bytes(dict(reversed(files.items())))
    assert zip_bytes(files) != zip_bytes({**files, "b": File(b"2")})


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("rope.py", b"def apply_rope(): ...", "assignment/rope.py differs"),
        ("transformer.py", None, "assignment/transformer.py is missing"),
        ("notes.txt", b"sol", "assignment/notes.txt is no part of the homework"),
        ("my_helpers.py", b"", "assignment/my_helpers.py is no part of the homework"),
        ("old/test_part1_x.py", b"", "assignment/old/test_part1_x.py is no part"),
        ("golden/cases.safetensors", None, "assignment/golden/cases.safetensors is not what"),
    ],
)
def test_a_stale_or_foreign_file_is_named(tmp_path, name, content, words):
    path = copy_of_assignment(tmp_path) / name
    path.parent.mkdir(exist_ok=True)
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(GraderError, match=re.escape(words)):
        sources.homework_files(tmp_path / "assignment")


def copy_of_assignment(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "assignment", tmp_path / "assignment"))


def test_links_are_refused_and_caches_left_out(tmp_path):
    package = copy_of_assignment(tmp_path)
    for cache in ("__pycache__/rope.tmp", ".pytest_cache/README.md"):
        (package / cache).parent.mkdir(exist_ok=True)
        (package / cache).write_bytes(b"")
    assert set(sources.homework_files(package)) == set(sources.homework_files())
    (package / "test_part1_link.py").symlink_to(package / "rope.py")
    with pytest.raises(GraderError, match=r"test_part1_link\.py is not a plain file"):
        sources.homework_files(package)


def test_line_ends_of_windows_give_the_same_bundle(monkeypatch, bundled):
    windows = {
        name: content.replace(b"\n", b"\r\n") if name.endswith((".py", ".md")) else content
        for name, content in sources._read_all(ROOT / "assignment").items()
    }
    monkeypatch.setattr(sources, "_read_all", lambda package: windows)
    files = {f"{NAME}/{name}": file.content for name, file in bundle.bundle_files().items()}
    assert files == bundled


@pytest.mark.parametrize(
    "line, words",
    [
        ("    return scores / scores.sum(axis=axis, keepdims=True)", "the solution"),
        ("    mean_square = np.mean(np.square(x), axis=-1, keepdims=True)", "the reference model"),
        ("from reference_model import llama", "the graders' code"),
        ("### BEGIN SOLUTION", "a solution marker"),
        ("SECRET = '" + "a1" * 32 + "'", "a secret seed"),
    ],
)
def test_what_gives_the_solution_away_stops_the_release(monkeypatch, line, words):
    whose = {
        "the solution": lambda: {line.strip()},
        "the reference model": lambda: {line.strip()},
    }
    for name, function in (
        ("solution_lines", "the solution"),
        ("reference_lines", "the reference model"),
    ):
        monkeypatch.setattr(
            f"grader.integrations.release.leaks.{name}",
            whose[function] if words == function else set,
        )
    monkeypatch.setattr(
        bundle, "homework_files", lambda: {"conftest.py": f"x = 1\n{line}\n".encode()}
    )
    with pytest.raises(GraderError, match=f"assignment/conftest.py holds .*{words}"):
        bundle.bundle_files()


def test_real_lines_of_solution_and_reference_are_known():
    """Every function's solution, and most of the reference, would be noticed."""
    for module in STUDENT_MODULES:
        content = (ROOT / "solution" / f"{module}.py").read_bytes().replace(b"###", b"#")
        assert any("the solution" in found for found in leaks({"x.py": content})), module
    content = (ROOT / "reference_model" / "llama.py").read_bytes()
    assert any("the reference model" in found for found in leaks({"x.py": content}))


def test_the_changelog_must_know_the_version(monkeypatch):
    newer = project.load_project().__class__("9.9.9", ">=3.11", (), {"chat": ()}, "")
    monkeypatch.setattr(bundle, "load_project", lambda: newer)
    with pytest.raises(GraderError, match=r"version 9\.9\.9, but the newest entry .* is about 0"):
        bundle.bundle_files()


def test_options_for_graders_are_refused_without_gradescope(tmp_path):
    result = CliRunner().invoke(main.app, ["release", str(tmp_path / "out"), "--late"])
    assert result.exit_code == 2 and "--gradescope" in result.output
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------- where it goes

TREE = {NAME: {"a.py": File(b"1"), "deep/b.py": File(b"2")}, f"{NAME}.zip": File(b"zip")}


def content_of(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }


def test_a_release_replaces_an_earlier_one(tmp_path):
    write_release(tmp_path, TREE)
    cache = tmp_path / NAME / "__pycache__" / "a.pyc"
    cache.parent.mkdir()
    cache.write_bytes(b"")
    write_release(tmp_path, {"autograder.zip": File(b"auto", 0o600)})
    write_release(tmp_path, {NAME: {"c.py": File(b"3")}})
    expected = {f"{NAME}/c.py": b"3", f"{NAME}.zip": b"zip", "autograder.zip": b"auto"}
    assert content_of(tmp_path) == expected
    assert (tmp_path / "autograder.zip").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", [f"{NAME}/rope.py", "thesis.txt", f"{NAME}/a.py"])
def test_what_a_person_wrote_is_never_replaced(tmp_path, name):
    """Neither a new file nor one of ours that was edited; nothing changes at all."""
    write_release(tmp_path, TREE)
    (tmp_path / name).write_bytes(b"a week of work")
    before = content_of(tmp_path)
    with pytest.raises(GraderError, match=re.escape(name)):
        write_release(tmp_path, {NAME: {"c.py": File(b"3")}})
    assert content_of(tmp_path) == before


def test_a_folder_in_use_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_bytes(b"")
    with pytest.raises(GraderError, match=r"in use; it holds thesis\.txt.*Name an empty folder"):
        write_release(tmp_path, TREE)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(GraderError, match="is a file, and a release needs a folder"):
        write_release(tmp_path / "thesis.txt", TREE)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path):
    write_release(tmp_path / "out", TREE)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b.py").write_bytes(b"2")
    shutil.rmtree(tmp_path / "out" / NAME / "deep")
    (tmp_path / "out" / NAME / "deep").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GraderError, match="deep"):
        write_release(tmp_path / "out", TREE)
    assert (tmp_path / "elsewhere" / "b.py").exists()


@pytest.mark.parametrize("calls", range(4))
def test_a_release_killed_midway_is_completed_by_the_next(tmp_path, monkeypatch, calls):
    write_release(tmp_path, TREE)
    new = {NAME: {"a.py": File(b"new")}, f"{NAME}.zip": File(b"new zip")}
    left = iter([None] * calls)

    def remove(path: Path) -> None:
        next(left)  # StopIteration when the time has come
        really(path)

    really = place._remove
    monkeypatch.setattr(place, "_remove", remove)
    with pytest.raises((StopIteration, RuntimeError)):
        write_release(tmp_path, new)
    monkeypatch.undo()
    write_release(tmp_path, new)
    assert content_of(tmp_path) == {f"{NAME}/a.py": b"new", f"{NAME}.zip": b"new zip"}


# ----------------------------------------------------------------------------------- it works alone


@pytest.fixture(scope="module")
def unpacked(released, tmp_path_factory) -> tuple[Path, str]:
    """The archive unpacked elsewhere and installed into an environment of its own."""
    home = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(released / f"{NAME}.zip") as archive:
        archive.extractall(home)
    venv = home / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = str(venv / "bin" / "python")
    pip("install", "--editable", str(home / NAME), python=python)
    return home / NAME, python


def run_as_student(unpacked: tuple[Path, str], *command: str) -> tuple[int, str]:
    folder, python = unpacked
    done = subprocess.run(
        [python, *command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_unfilled_it_says_what_to_do_first(unpacked):
    code, output = run_as_student(unpacked, "-m", "pytest")
    assert code == 1
    assert output.count("not started") == len(PARTS)
    assert "Next: 1.1 softmax (assignment/README.md §1.1)" in output
    assert len(output.splitlines()) <= 20


def test_filled_in_all_pass(unpacked):
    folder, _ = unpacked
    stubs = {m: (folder / "assignment" / f"{m}.py").read_bytes() for m in STUDENT_MODULES}
    try:
        for module in STUDENT_MODULES:
            shutil.copy(ROOT / "solution" / f"{module}.py", folder / "assignment")
        code, output = run_as_student(unpacked, "-m", "pytest")
    finally:
        for module, stub in stubs.items():
            (folder / "assignment" / f"{module}.py").write_bytes(stub)
    assert code == 0, output
    assert output.count(" done") == len(PARTS)


# ---------------------------------------------------------------------------------------- notebook

# Runs a notebook's code cells as IPython does, as far as this notebook needs it.
KERNEL = textwrap.dedent("""
    import json, sys
    names = {"__name__": "__main__", "get_ipython": lambda: None}
    for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        if source.startswith("%run -i "):
            script, *sys.argv[1:] = source.split()[2:]
            exec(compile(open(script).read(), script, "exec"), names)
        else:
            exec(compile(source, cell["id"], "exec"), names)
""")


@pytest.fixture(scope="module")
def filled_notebook() -> bytes:
    modules = {
        m: (ROOT / "solution" / f"{m}.py").read_text(encoding="utf-8") for m in STUDENT_MODULES
    }
    return notebook.homework_notebook(modules)


def test_the_notebook_tests_what_its_cells_define(unpacked, filled_notebook, tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "filled.ipynb").write_bytes(filled_notebook)
    for path, state in (("homework.ipynb", "not started"), (tmp_path / "filled.ipynb", "done")):
        code, output = run_as_student(unpacked, str(tmp_path / "kernel.py"), str(path))
        assert code == 0, output
        table = [line for line in output.splitlines() if line.startswith("Part ")]
        assert len(table) == 2 * len(PARTS), output
        assert all(line.endswith(state) for line in table[len(PARTS) :]), output
        # Part 4 of the solution calls a function of part 5, whose cell comes later.
        waiting = [line for line in table if not line.endswith(state)]
        assert all("waiting for 5.1 grouped_query_attention" in line for line in waiting), output


def alone(folder: Path, archive: bytes | None, address: str = "") -> subprocess.CompletedProcess:
    """The stubs' notebook run in a folder of its own, by a Python that knows no homework."""
    stubs = {module: skeleton.generated_files()[f"{module}.py"] for module in STUDENT_MODULES}
    needs = project.load_project().dependencies
    (folder / "mine.ipynb").write_bytes(notebook.homework_notebook(stubs, needs, address))
    if archive is not None:
        (folder / f"{NAME}.zip").write_bytes(archive)
    knows_none = (
        "import sys, pathlib\n"
        "others = [p for p in sys.path[1:] if not (pathlib.Path(p) / 'assignment').exists()]\n"
        "sys.path = ['', *others]\n"
    )
    (folder / "kernel.py").write_text(knows_none + KERNEL)
    command = [sys.executable, "kernel.py", "mine.ipynb"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_notebook_alone_unpacks_the_bundle_beside_it(released, tmp_path):
    done = alone(tmp_path, (released / f"{NAME}.zip").read_bytes())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("not started") >= len(PARTS)
    assert (tmp_path / "run_tests.py").is_file() and not (tmp_path / "homework.ipynb").exists()


def test_the_notebook_alone_fetches_the_bundle(released, tmp_path):
    address = (released / f"{NAME}.zip").as_uri()
    assert alone(tmp_path, None, address).returncode == 0


def test_the_notebook_alone_says_what_to_upload(tmp_path):
    done = alone(tmp_path, None)
    assert done.returncode == 1 and f"Upload {NAME}.zip" in done.stderr


def test_an_address_that_is_none_is_refused(tmp_path):
    result = CliRunner().invoke(main.app, ["release", str(tmp_path / "out"), "--url", "zip here"])
    assert result.exit_code == 2 and "no address of the web" in result.output


@pytest.mark.slow
def test_the_notebook_filled_in_gets_full_marks(any_sandbox, filled_notebook, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "homework.ipynb").write_bytes(filled_notebook)
    [found] = find_submissions([tmp_path / "homework.ipynb"], Course.load())
    prepared = prepare(found, tmp_path / "prepared", Course.load())
    suite = Suite.load(SECRET, False, tmp_path)
    outcome = run_suite(suite, prepared.folder, "auto", Limits(), 0)
    assert [test.id for test in outcome.tests if test.points < test.max_points] == []
    assert not any(test.with_trusted_parts for test in outcome.tests)
    assert outcome.worker_notes == ""


def test_the_notebook_is_a_valid_one(bundled):
    nbformat = pytest.importorskip("nbformat", reason="nbformat checks the notebook's format")
    content = json.loads(bundled[f"{NAME}/homework.ipynb"])
    nbformat.validate(nbformat.from_dict(content))
    names = {cell["id"] for cell in content["cells"] if cell["cell_type"] == "code"}
    assert {name for part in PARTS for name in part.functions} <= names
    text = {cell["id"]: cell["source"] for cell in content["cells"]}
    for part in PARTS:
        heading = f"## Part {part.number}: {part.title}\n"
        assert "".join(text[f"part{part.number}"]).startswith(heading)
