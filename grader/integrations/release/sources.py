"""The files of assignment/ that students get. Whatever else lies there keeps a release from going
out: nobody should learn from a student's mail that notes or a draft were in the bundle."""

from pathlib import Path, PurePosixPath

from grader.authoring import skeleton
from grader.base.errors import GraderError
from grader.intake.course import Course

PACKAGE = "assignment"
# Beside the generated stubs and given files.
PATTERNS = (
    "README*.md",
    "PART10*.md",
    "PART12*.md",
    "COMPANION*.md",
    "chat.py",
    "look.py",
    "serve_demo.py",
    "watch.py",
    "word_vectors.py",
    "conftest.py",
    "test_*.py",  # the same that the grader takes for its public tests
    "harness/*.py",
    "harness/*.toml",
    "harness/page/*.py",
    "harness/page/*.css",
    "harness/page/*.js",
    "harness/watch/*.py",
    "golden/*.safetensors",
    "golden/*.json",
    "figures/*.svg",
    "figures/*.png",
)
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".hypothesis", ".ruff_cache", ".mypy_cache"})
_LITTER = (".pyc", ".pyo", ".DS_Store")


def is_cache(path: PurePosixPath) -> bool:
    """Whether a tool left the file: caches, compiled Python, pip's notes on an editable install."""
    leftovers = any(
        p in _CACHES or p.endswith((".egg-info", ".ipynb_checkpoints")) for p in path.parts
    )
    return leftovers or path.name.endswith(_LITTER)


def homework_files(package: Path | None = None) -> dict[str, bytes]:
    """Every file of the homework by its path below assignment/, without the repository's marks.

    Raises:
        GraderError: a stub or given file is not what solution/ generates, golden data is not what
            the reference computes, or there is a file that is no part of the homework.
    """
    package = package or Course.load().package
    files = _read_all(package)
    generated = skeleton.generated_files()
    _require_fresh(files, skeleton.marked_files())
    _require_fresh_golden(package)
    for name in files:
        if name not in generated and not _is_known(PurePosixPath(name)):
            raise GraderError(
                f"{PACKAGE}/{name} is no part of the homework, and everything in {PACKAGE}/ goes "
                "to the students. Move it elsewhere, then release again."
            )
    return files | {name: source.encode() for name, source in generated.items()}


def _read_all(package: Path) -> dict[str, bytes]:
    files = {}
    for path in sorted(package.rglob("*")):
        name = PurePosixPath(path.relative_to(package).as_posix())
        if is_cache(name) or path.is_dir():
            continue
        if path.is_symlink() or not path.is_file():
            raise GraderError(
                f"{PACKAGE}/{name} is not a plain file; students get plain files only."
            )
        files[str(name)] = path.read_bytes()
    return files


def _is_known(path: PurePosixPath) -> bool:
    return any(
        path.match(pattern) and len(path.parts) == pattern.count("/") + 1 for pattern in PATTERNS
    )


def _require_fresh(files: dict[str, bytes], marked: dict[str, str]) -> None:
    for name, source in marked.items():
        if name not in files:
            raise GraderError(
                f"{PACKAGE}/{name} is missing. Write it with `python -m grader.authoring.skeleton`."
            )
        # A clone on Windows may hold other line ends; the bundle's are always the same.
        if files[name].replace(b"\r\n", b"\n") != source.encode():
            raise GraderError(
                f"{PACKAGE}/{name} differs from what solution/ generates: it was edited, or "
                "solution/ was. Keep a copy if the edit is work of yours, run `python -m "
                "grader.authoring.skeleton`, then release again."
            )


def _require_fresh_golden(package: Path) -> None:
    from grader.authoring import exercises, golden

    stale = golden.stale_cases(package / "golden" / "cases.safetensors")
    if stale:
        raise GraderError(
            f"{PACKAGE}/golden/cases.safetensors is not what the reference model computes "
            f"({', '.join(stale[:3])}). Run `python -m grader.authoring.golden`, then release "
            "again."
        )
    if exercises.is_stale(package / "golden" / exercises.ANSWERS_FILE.name):
        raise GraderError(
            f"{PACKAGE}/golden/{exercises.ANSWERS_FILE.name} is not what the reference model "
            "computes. Run `python -m grader.authoring.exercises`, then release again."
        )
