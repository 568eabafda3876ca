"""Writes a release into a folder that a person named, and replaces nothing but an earlier one."""

import contextlib
import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath

from grader.base.errors import GraderError
from grader.integrations.release.archive import File
from grader.integrations.release.sources import is_cache
from grader.results.record import write_atomically

MAX_SHOWN = 3
MANIFEST = ".grader-release.json"
_DRAFT = ".grader-release-draft-"
_ELSEWHERE = "Name an empty folder, or one with an earlier release in it."


def write_release(out: Path, tops: Mapping[str, File | Mapping[str, File]]) -> None:
    """Write files and folders (by name) into `out`, in place of those of an earlier release.

    A person's file there, or one of an earlier release that was edited since, is never replaced.
    Caches and the like are.

    Raises:
        GraderError: `out` holds something else, or cannot be written; nothing was changed then.
    """
    try:
        _write(out, tops)
    except OSError as problem:
        raise GraderError(
            f"The release could not be written to {out} ({problem.strerror}). {_ELSEWHERE}"
        ) from None


def _write(out: Path, tops: Mapping[str, File | Mapping[str, File]]) -> None:
    if out.exists() and not out.is_dir():
        raise GraderError(f"{out} is a file, and a release needs a folder. {_ELSEWHERE}")
    out.mkdir(parents=True, exist_ok=True)
    earlier = _read_manifest(out)
    _require_ours(out, earlier)
    for left_behind in out.glob(f"{_DRAFT}*"):  # by a release that was killed
        _remove(left_behind)
    new = {name: [_hash(file.content)] for name, file in _flat(tops).items()}
    kept = {name: hashes for name, hashes in earlier.items() if _top(name) not in tops}
    # Killed in between, both the old files and the new ones are known to be ours.
    both = {name: [*earlier.get(name, []), *new.get(name, [])] for name in earlier.keys() | new}
    _write_manifest(out, both)
    for name, content in tops.items():
        draft = out / f"{_DRAFT}{secrets.token_hex(4)}"
        try:
            _make(draft, content)
            _remove(out / name)
            draft.rename(out / name)
        finally:
            _remove(draft)
    _write_manifest(out, kept | new)


def _flat(tops: Mapping[str, File | Mapping[str, File]]) -> dict[str, File]:
    files = {}
    for name, content in tops.items():
        if isinstance(content, File):
            files[name] = content
        else:
            files |= {f"{name}/{inner}": file for inner, file in content.items()}
    return files


def _make(path: Path, content: File | Mapping[str, File]) -> None:
    if isinstance(content, File):
        # Never readable to others, not even for a moment, where the mode says so.
        path.touch(mode=0o600)
        path.write_bytes(content.content)
        path.chmod(content.mode)
        return
    path.mkdir()
    path.chmod(0o755)
    for name, file in content.items():
        for folder in reversed(PurePosixPath(name).parents[:-1]):
            (path / folder).mkdir(exist_ok=True)
            (path / folder).chmod(0o755)
        _make(path / name, file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _require_ours(out: Path, earlier: Mapping[str, list[str]]) -> None:
    # A few are enough: the folder named by mistake may be somebody's home.
    strangers = list(islice(_strangers(out, earlier), MAX_SHOWN + 1))
    if not strangers:
        return
    shown = ", ".join(strangers[:MAX_SHOWN]) + (", …" if strangers[MAX_SHOWN:] else "")
    if not earlier:
        raise GraderError(f"{out} is in use; it holds {shown}. Nothing was written. {_ELSEWHERE}")
    raise GraderError(
        f"{out} holds what no release wrote, or what was edited since: {shown}. Nothing was "
        "replaced. Move it away, or name another folder."
    )


def _strangers(out: Path, earlier: Mapping[str, list[str]]) -> Iterator[str]:
    for path in out.rglob("*"):
        name = PurePosixPath(path.relative_to(out).as_posix())
        if is_cache(name) or str(name) == MANIFEST or name.parts[0].startswith(_DRAFT):
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        known = earlier.get(str(name), [])
        is_file = bool(known) and path.is_file() and not path.is_symlink()
        if not is_file or _hash(path.read_bytes()) not in known:
            yield str(name)


def _read_manifest(out: Path) -> dict[str, list[str]]:
    path = out / MANIFEST
    with contextlib.suppress(FileNotFoundError, ValueError, AttributeError):
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): list(hashes) for name, hashes in content["files"].items()}
    return {}


def _write_manifest(out: Path, files: Mapping[str, list[str]]) -> None:
    content = {"about": "Written by `grader release`, which replaces these files.", "files": files}
    text = json.dumps(content, indent=1, sort_keys=True)
    write_atomically(out / MANIFEST, text.encode() + b"\n")


def _top(name: str) -> str:
    return name.partition("/")[0]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
