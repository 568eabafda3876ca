"""The attacks in code: programs/*.toml, each laid behind the solution of its module, or alone."""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from .attack import Attack, Place

FOLDER = Path(__file__).parent / "programs"
HELPER = Path(__file__).with_name("attempts.py")
# The modules that a module of the solution needs beside it.
NEEDS = {"rope": (), "kv_cache": ("attention", "rope", "gqa")}


@dataclass(frozen=True)
class Program(Attack):
    """An attack with its code.

    Attributes:
        module: the solution's module that `code` is laid behind.
        files: in place of both, all that is handed in: texts by the files' names.
    """

    code: str = ""
    module: str = "rope"
    files: dict[str, str] = field(default_factory=dict)


def programs() -> tuple[Program, ...]:
    """Every program of every file; an entry with a key that is none of a program's is refused."""
    entries = [
        entry
        for file in sorted(FOLDER.glob("*.toml"))
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["program"]
    ]
    return tuple(_program(entry) for entry in entries)


def _program(entry: dict) -> Program:
    unknown = entry.keys() - {known.name for known in fields(Program)}
    if unknown or not (entry.get("code") or entry.get("files")):
        raise ValueError(f"{entry.get('name')}: unknown keys {sorted(unknown)}, or no code")
    lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
    return Program(**entry | lists)


def parts_of(program: Program, solution: dict[str, str], course: Path, out: Path) -> dict[str, str]:
    """The files of a submission by their names."""
    if program.files:
        return program.files
    code = program.code.replace("@ROOT@", str(course)).replace("@OUT@", str(out))
    files = {f"{need}.py": solution[need] for need in NEEDS[program.module]}
    files[f"{program.module}.py"] = f"{solution[program.module]}\n\n# --- the attack\n{code}"
    if "from .attempts import" in code:
        files[HELPER.name] = HELPER.read_text(encoding="utf-8")
    return files


def hand_in(program: Program, place: Place, out: Path) -> Path:
    """Write a program's submission as a folder of the class."""
    folder = place.folder / program.name
    folder.mkdir()
    for name, text in parts_of(program, place.solution, place.course, out).items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder
