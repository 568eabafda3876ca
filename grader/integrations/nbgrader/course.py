"""`grader nbgrader init`: a course folder on which nbgrader's own commands work."""

from __future__ import annotations

import json
from pathlib import Path

from assignment.harness.parts import PARTS
from grader.base.errors import GraderError
from grader.base.words import speaking

ASSIGNMENT_NAME = "attention-and-kv-cache"
CONFIG_FILE = "nbgrader_config.py"
# What the notebooks' tests stand on; the stubs of the modules are not among it.
PACKAGE_FILES = (
    "__init__.py",
    "transformer.py",
    "word_vectors.py",
    "golden/cases.safetensors",
    "golden/answers.json",
)
_TESTS = (f"test_part{part.number}_*.py" for part in PARTS)
PACKAGE_PATTERNS = (*_TESTS, "harness/**/*.py", "harness/*.toml", "figures/*.svg")

CONFIG = '''\
"""nbgrader's configuration of this course; every option: `nbgrader generate_config`."""

import importlib.util
import os
import sys
import sysconfig

c = get_config()  # noqa: F821

# The test cells import the grader when they run here. Without it each of them would score 0.
if importlib.util.find_spec("grader") is None:
    sys.exit(f"{{sys.executable}} lacks the grader: pip install -e '.[grader,nbgrader]'")

# nbgrader starts `alembic`, which lies beside this Python: an environment need not be activated.
scripts = sysconfig.get_path("scripts")
os.environ["PATH"] = os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)])

c.CourseDirectory.course_id = {course_id}

# Archives in downloaded/ASSIGNMENT/archive/ are named for the student: `ana.zip`, or as Canvas
# names them, `ana_LATE_123_456_hw.zip`. They hold part1.ipynb and the others, in any folder.
c.FileNameCollectorPlugin.named_regexp = (
    r".*[/\\\\]extracted[/\\\\](?P<student_id>[^/\\\\]+?)(?:_LATE)?(?:_\\d+_\\d+_[^/\\\\]*)?"
    r"[/\\\\](?:.*[/\\\\])?(?P<file_id>part\\d+)\\.ipynb$"
)

# Feedback is one file a notebook: its pictures are in it.
c.HTMLExporter.embed_images = True

# Seconds a cell may take when nbgrader itself runs a notebook.
c.Execute.timeout = 120
'''


def make_course(
    course: Path, assignment: str = ASSIGNMENT_NAME, language: str = "en"
) -> list[Path]:
    """Write the configuration and the source of the assignment; what is there already stays.

    Returns:
        What was written.

    Raises:
        GraderError: the folder already has this assignment, or cannot be written.
    """
    from .notebooks import make_notebooks, to_text

    if "+" in assignment or "/" in assignment or not assignment.strip():
        raise GraderError(
            f"{assignment!r} cannot be an assignment's name: nbgrader allows neither '+' nor '/'."
        )
    source = course / "source" / assignment
    if source.exists():
        raise GraderError(
            f"{source} exists already, and may hold your changes. Delete it to have it written "
            "anew, or name another assignment with --assignment."
        )
    try:
        source.mkdir(parents=True)
        written = _copy_package(source / "assignment")
        with speaking(language):
            notebooks = make_notebooks()
        for name, notebook in notebooks.items():
            written.append(source / f"{name}.ipynb")
            written[-1].write_text(to_text(notebook), encoding="utf-8")
        config = course / CONFIG_FILE
        if not config.exists():
            course_id = json.dumps(course.resolve().name)
            config.write_text(CONFIG.format(course_id=course_id), encoding="utf-8")
            written.append(config)
    except OSError as problem:
        raise GraderError(
            f"The course could not be written to {course} ({problem.strerror})."
        ) from None
    return written


def _copy_package(destination: Path) -> list[Path]:
    """The part of the student's package that notebooks need: given code, tests, golden data."""
    from grader.authoring.skeleton import ASSIGNMENT, generated_files

    generated = generated_files()
    names = [ASSIGNMENT / name for name in PACKAGE_FILES]
    for pattern in PACKAGE_PATTERNS:
        names += sorted(ASSIGNMENT.glob(pattern))
    copied = []
    for path in names:
        name = path.relative_to(ASSIGNMENT)
        copy = destination / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        source = generated.get(name.as_posix())
        copy.write_bytes(path.read_bytes() if source is None else source.encode())
        copied.append(copy)
    return copied
