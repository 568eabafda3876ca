"""The students' bundle: what is in it. The same sources give the same bytes."""

import json
import re
from pathlib import Path, PurePosixPath

from assignment.harness.parts import STUDENT_MODULES
from grader.authoring import skeleton
from grader.base.errors import GraderError
from grader.base.words import speaking
from grader.integrations.release import notebook
from grader.integrations.release.archive import File
from grader.integrations.release.leaks import leaks
from grader.integrations.release.notebook import BUNDLE as NAME
from grader.integrations.release.project import Project, load_project
from grader.integrations.release.sources import PACKAGE, homework_files, is_cache

OWN_FILES = Path(__file__).with_name("student")
CHANGELOG = "CHANGELOG.md"
WATCH_EXTRA = ["rich>=13.7", "watchfiles>=0.20"]
_HEADING = re.compile(r"^## (\S+)", re.M)


def bundle_files(language: str = "en", address: str = "") -> dict[str, File]:
    """Every file of the bundle by its path below kv-cache-homework/.

    Args:
        language: of the notebook's text.
        address: where the bundle will lie, for a notebook that stands alone.

    Raises:
        GraderError: assignment/ is stale or holds what does not belong there, the changelog says
            nothing of this version, or a line of the solution would get out.
    """
    project = load_project()
    files = {f"{PACKAGE}/{name}": content for name, content in homework_files().items()}
    files |= _own_files()
    files["pyproject.toml"] = pyproject(project).encode()
    files["LICENSE"] = project.licence.encode()
    generated = skeleton.generated_files()
    stubs = {module: generated[f"{module}.py"] for module in STUDENT_MODULES}
    with speaking(language):
        files[notebook.NAME] = notebook.homework_notebook(stubs, project.dependencies, address)
    files = {name: with_unix_lines(name, content) for name, content in files.items()}
    _require_changelog(files[CHANGELOG].decode(), project.version)
    if found := leaks(files):
        more = f" ({len(found) - 1} more after this one.)" if len(found) > 1 else ""
        raise GraderError(f"Nothing was released, for {found[0]}.{more} Take it out first.")
    return {name: File(content) for name, content in files.items()}


def _own_files() -> dict[str, bytes]:
    own = [path for path in OWN_FILES.rglob("*") if path.is_file()]
    named = {PurePosixPath(path.relative_to(OWN_FILES).as_posix()): path for path in own}
    return {str(name): path.read_bytes() for name, path in named.items() if not is_cache(name)}


def pyproject(project: Project) -> str:
    """A pyproject.toml that installs what the homework needs, and its tests as the default."""
    strings = json.dumps  # TOML's basic strings and arrays of them are JSON's
    return f"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{NAME}-student"
version = {strings(project.version)}
description = "Homework: attention and KV-cache decode"
requires-python = {strings(project.requires_python)}
dependencies = {strings(list(project.dependencies))}

[project.optional-dependencies]
# For `python -m {PACKAGE}.chat`: a real model on your own functions.
chat = {strings(list(project.extras["chat"]))}
# For `python -m {PACKAGE}.watch`, which works without.
watch = {strings(WATCH_EXTRA)}
# For {notebook.NAME}.
notebook = ["jupyterlab>=4"]

[tool.hatch.build.targets.wheel]
packages = ["{PACKAGE}"]

[tool.pytest.ini_options]
testpaths = ["{PACKAGE}"]
"""


def _require_changelog(changelog: str, version: str) -> None:
    newest = _HEADING.search(changelog)
    if newest is None or newest[1] != version:
        found = f"is about {newest[1]}" if newest else "has no entry"
        raise GraderError(
            f"This is version {version}, but the newest entry of the students' changelog {found}. "
            f"Say in grader/integrations/release/student/{CHANGELOG} what changed for them."
        )


def with_unix_lines(name: str, content: bytes) -> bytes:
    """A clone on Windows may have changed the line ends of texts."""
    is_text = name.endswith(
        (".py", ".md", ".toml", ".ipynb", ".json", ".svg", ".css", ".js", "LICENSE")
    )
    return content.replace(b"\r\n", b"\n") if is_text else content
