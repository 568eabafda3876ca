"""The attacks that are not code: archives, links, notebooks, names and bytes that are no text."""

import bz2
import gzip
import io
import json
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from . import tables
from .attack import ROPE, Attack, Place

MIB = 1 << 20
TRACE = "hostile_trace"
BUILT: list[Attack] = []


def built(hopes: str, **verdict) -> Callable:
    """Register a function that makes a submission; its name is the attack's."""

    def register(build: Callable[[Place], Path]) -> Callable:
        BUILT.append(Attack(build.__name__, hopes, build=build, **verdict))
        return build

    return register


REFUSED = {"state": "missing"}


def _folder(place: Place, name: str, **modules: str | bytes) -> Path:
    folder = place.folder / name
    folder.mkdir()
    for module, content in modules.items():
        raw = content.encode() if isinstance(content, str) else content
        (folder / f"{module}.py").write_bytes(raw)
    return folder


def _rope(place: Place) -> str:
    return place.solution["rope"]


# --- bytes that are no source


@built("stops the reader of C strings", says=("not valid Python",))
def nul_in_source(place):
    return _folder(place, "nul_in_source", rope=_rope(place) + "\0\nimport os\n")


@built("a parser's stack overflows", says=("ImportError",))
def deep_parentheses(place):
    deep = "answer = " + "(" * 100_000 + ")" * 100_000
    return _folder(place, "deep_parentheses", rope=f"{_rope(place)}\n{deep}\n")


@built("a compiler's stack overflows", says=("ImportError",))
def deep_expression(place):
    deep = "answer = " + "-" * 300_000 + "1"
    return _folder(place, "deep_expression", rope=f"{_rope(place)}\n{deep}\n")


@built("a decoder fails in the grader", says=("not valid Python",))
def invalid_utf8(place):
    return _folder(place, "invalid_utf8", rope=_rope(place).encode() + b"x = '\xff\xfe\xc3\x28'\n")


@built("an encoding of its own choice", says=("not valid Python",))
def unknown_encoding(place):
    return _folder(place, "unknown_encoding", rope="# -*- coding: hostile -*-\n" + _rope(place))


@built("nothing: it is honest, from Windows", full=ROPE)
def byte_order_mark(place):
    text = "\ufeff" + _rope(place).replace("\n", "\r\n")
    return _folder(place, "byte_order_mark", rope=text.encode())


@built("fills the memory of who reads it", **REFUSED, says=("larger than 1 MiB",))
def two_mib_of_source(place):
    return _folder(place, "two_mib_of_source", rope=_rope(place) + "#" * (2 * MIB))


@built("is imported in place of numpy, the worker's parts or pytest's files", full=ROPE)
def shadow_modules(place):
    spy = "print('GOT IT shadow', __name__)\nraise SystemExit\n"
    names = ("numpy", "sitecustomize", "usercustomize", "conftest", "json", "wire", "worker", "ast")
    folder = _folder(place, "shadow_modules", rope=_rope(place), **dict.fromkeys(names, spy))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p conftest\n")
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-p conftest'\n")
    for name in ("numpy", "assignment", "harness", "encodings"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(spy)
    (folder / "__init__.py").write_text(spy)
    (folder / "numpy.pth").write_text(f"import os; open('/tmp/{TRACE}', 'w')\n")
    return folder


@built("is taken for the given file", full=ROPE)
def given_files_of_its_own(place):
    spy = "print('GOT IT given')\nraise SystemExit\n"
    names = ("transformer", "__init__", "chat", "test_part3_rope", "conftest")
    return _folder(place, "given_files", rope=_rope(place), **dict.fromkeys(names, spy))


@built("more modules than a sandbox carries", **REFUSED, says=("holds 300 modules",))
def three_hundred_modules(place):
    helpers = {f"helper_{n}": "" for n in range(299)}
    return _folder(place, "three_hundred_modules", rope=_rope(place), **helpers)


@built("more code than a sandbox carries", **REFUSED, says=("larger than 16 MiB together",))
def forty_mib_of_source(place):
    helpers = {f"helper_{n}.py": b"#" * (MIB - 1) for n in range(40)}
    return _zip(place, "forty_mib_of_source", {"rope.py": _rope(place)} | helpers)


@built("a module below five hundred folders", full=ROPE)
def deep_folders(place):
    entries = {f"{'a/' * 500}helper.py": "print('GOT IT')", "rope.py": _rope(place)}
    return _zip(place, "deep_folders", entries)


# --- tables of answers


@built("the public cases and their answers by heart")
def table_of_public_answers(place):
    return _folder(place, "table_of_public_answers", rope=tables.of_public_answers())


# Properties have no hidden twin, but draw their examples anew in grading.
@built(
    "the answers to every call of the public tests by heart",
    says=("right on the public case and wrong on a hidden one", "draws other examples"),
)
def table_of_public_calls(place):
    return _folder(place, "table_of_public_calls", rope=tables.of_public_calls())


# --- archives


def _zip(place: Place, name: str, entries: dict[str, str | bytes], links=()) -> Path:
    path = place.folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
        for entry, target in links:
            info = zipfile.ZipInfo(entry)
            info.create_system, info.external_attr = 3, 0o120777 << 16
            archive.writestr(info, target)
    return path


def _tar(place: Place, name: str, entries: dict[str, str], special=()) -> Path:
    path = place.folder / f"{name}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for entry, content in entries.items():
            info = tarfile.TarInfo(entry)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
        for entry, kind, target in special:
            info = tarfile.TarInfo(entry)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return path


@built("writes beside the class folder", **REFUSED, says=("climbs out",))
def zip_slip(place):
    slips = {f"{'../' * n}{TRACE}.py": "GOT IT" for n in (1, 2, 8)}
    return _zip(place, "zip_slip", {"rope.py": _rope(place)} | slips)


@built("writes beside the class folder, from Windows", **REFUSED, says=("climbs out",))
def zip_slip_with_backslashes(place):
    entries = {"rope.py": _rope(place), f"a\\..\\..\\{TRACE}.py": "GOT IT"}
    return _zip(place, "zip_slip_backslash", entries)


@built("writes where it wants", **REFUSED, says=("absolute path",))
def absolute_path(place):
    return _zip(place, "absolute_path", {f"/tmp/{TRACE}.py": "GOT IT", "rope.py": _rope(place)})


@built("writes to a drive", **REFUSED, says=("drive letter",))
def drive_letter(place):
    return _zip(place, "drive_letter", {f"C:/{TRACE}.py": "GOT IT", "rope.py": _rope(place)})


@built("two readers see two names", **REFUSED, says=("NUL byte",))
def nul_in_entry_name(place):
    path = _zip(place, "nul_in_entry", {"rope.pyX.txt": _rope(place)})
    path.write_bytes(path.read_bytes().replace(b"rope.pyX.txt", b"rope.py\0.txt"))
    return path


@built("reads the solution by a link", **REFUSED, says=("symbolic link",))
def link_in_a_zip(place):
    target = f"{place.course}/solution/rope.py"
    return _zip(place, "link_in_zip", {"attention.py": ""}, [("rope.py", target)])


@built("writes through a link", **REFUSED, says=("symbolic link",))
def linked_folder_in_a_tar(place):
    special = [("helpers", tarfile.SYMTYPE, "/tmp")]
    return _tar(place, "linked_folder", {"rope.py": _rope(place)}, special)


@built("reads the solution by a hard link", **REFUSED, says=("hard link",))
def hard_link_in_a_tar(place):
    target = f"{place.course}/solution/rope.py"
    special = [("rope.py", tarfile.LNKTYPE, target)]
    return _tar(place, "hard_link", {"attention.py": ""}, special)


@built("makes a device", **REFUSED, says=("device or pipe",))
def device_in_a_tar(place):
    special = [("rope.py", tarfile.CHRTYPE, ""), ("gqa.py", tarfile.FIFOTYPE, "")]
    return _tar(place, "device", {"attention.py": ""}, special)


@built("unpacks to fill memory or disk", **REFUSED, says=("larger than 1 MiB",))
def zip_bomb(place):
    return _zip(place, "zip_bomb", {"rope.py": b"#" * (64 * MIB)})


@built("one file that counts a thousand times", **REFUSED, says=("zip archive is damaged",))
def overlapping_zip_bomb(place):
    """Every entry of the table of contents points to the same data."""
    path = _zip(place, "overlapping", {"rope.py": b"#" * MIB})
    data = path.read_bytes()
    start, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry, tail = data[start:end], bytearray(data[end:])
    entries = [entry.replace(b"rope.py", b"r%03d.py" % n) for n in range(400)]
    for at, size, value in ((8, 2, 400), (10, 2, 400), (12, 4, 400 * len(entry))):
        tail[at : at + size] = value.to_bytes(size, "little")
    path.write_bytes(data[:start] + b"".join(entries) + bytes(tail))
    return path


@built("unpacks to fill memory or disk", **REFUSED, says=("unpacks to more than",))
def tar_bomb(place):
    """A quarter of a gigabyte that nobody asked for, before the module."""
    path = place.folder / "tar_bomb.tar.gz"
    header = tarfile.TarInfo("data.bin")
    header.size = 1 << 34
    chunk = gzip.compress(bytes(16 * MIB))
    # A gzip file may have many members, each unpacking to the same zeros.
    path.write_bytes(gzip.compress(header.tobuf()) + chunk * 20)
    return path


@built("the header claims another size", **REFUSED, says=("damaged",))
def lying_sizes(place):
    path = _zip(place, "lying_sizes", {"rope.py": b"#" * (8 * MIB)})
    true, claimed = (size.to_bytes(4, "little") for size in (8 * MIB, 100))
    path.write_bytes(path.read_bytes().replace(true, claimed))
    return path


@built("asks for a gigabyte by its header", **REFUSED, says=("damaged",))
def greedy_xz(place):
    """xz with a dictionary of 1.5 GiB, said in six bits."""
    header = b"\x02\x00\x21\x01\x25\x00\x00\x00"
    block = header + zlib.crc32(header).to_bytes(4, "little")
    flags = b"\x00\x04"
    start = b"\xfd7zXZ\x00" + flags + zlib.crc32(flags).to_bytes(4, "little")
    path = place.folder / "greedy.tar.xz"
    path.write_bytes(start + block + b"\x00" * 64)
    return path


@built("hides the work, or a bomb, some layers deep", **REFUSED, says=("inside the submission",))
def nested_archives(place):
    inner = _zip(place, "nested", {"rope.py": _rope(place)})
    for _ in range(4):
        content = inner.read_bytes()
        inner = _zip(place, "nested", {"hw.zip": content, "hw.tar.bz2": bz2.compress(content)})
    return inner


@built("asks for a password", **REFUSED, says=("encrypted",))
def encrypted_zip(place):
    path = _zip(place, "encrypted", {"rope.py": _rope(place)})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.index(mark) + at] |= 1
    path.write_bytes(bytes(data))
    return path


@built("takes long to list", **REFUSED, says=("more than 500",))
def many_modules(place):
    entries = {f"helper_{n}.py": "" for n in range(600)}
    return _zip(place, "many_modules", {"rope.py": _rope(place)} | entries)


@built("is no archive at all", **REFUSED, says=("does not start like",))
def no_archive(place):
    path = place.folder / "no_archive.zip"
    path.write_bytes(b"\x7fELF" + os.urandom(2000))
    return path


@built("ends early", **REFUSED, says=("zip archive",))
def cut_short(place):
    path = _zip(place, "cut_short", {"rope.py": _rope(place)})
    path.write_bytes(path.read_bytes()[:-30])
    return path


@built("the last of two files of one name", full=ROPE, says=("occurs twice",))
def same_entry_twice(place):
    path = place.folder / "same_entry_twice.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rope.py", "print('GOT IT first')\n")
        archive._didModify = True
        archive.NameToInfo.clear()  # or zipfile warns
        archive.writestr("rope.py", _rope(place))
    return path


@built("a name longer than a file system takes", **REFUSED, says=("longer than 255",))
def name_of_300_bytes(place):
    return _zip(place, "name_of_300", {"rope.py": _rope(place), f"{'n' * 300}.py": ""})


# --- links and pipes in a folder


@built("reads the solution by a link", says=("symbolic link",))
def link_to_the_solution(place):
    folder = _folder(place, "link_to_solution", attention="")
    (folder / "rope.py").symlink_to(place.course / "solution" / "rope.py")
    (folder / "helpers").symlink_to(place.course / "grader")
    return folder


@built("takes the grader for a walk", **REFUSED, says=("symbolic link",))
def linked_submission(place):
    path = place.folder / "linked_submission"
    path.symlink_to(place.course / "solution")
    return path


@built("makes the reader wait for a writer", says=("not a plain file",))
def pipe_for_a_module(place):
    folder = _folder(place, "pipe_for_a_module", attention="")
    os.mkfifo(folder / "rope.py")
    return folder


# --- notebooks


def _notebook(place: Place, name: str, cells: list[dict], **more) -> Path:
    path = place.folder / f"{name}.ipynb"
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}
    path.write_text(json.dumps(content))
    return path


def _cell(source: str, number: int = 0, **more) -> dict:
    return {
        **{"cell_type": "code", "id": f"c{number}", "source": source, "outputs": []},
        **{"metadata": {}, "execution_count": number, **more},
    }


def _rope_cells(place: Place) -> tuple[str, str]:
    first, second, _ = _rope(place).partition("def apply_rope")
    return first.replace("from __future__ import annotations", ""), second + _


@built("its saved outputs are believed", says=("not implemented",))
def notebook_with_faked_outputs(place):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "22 / 22 points\nGOT IT"},
        {"output_type": "execute_result", "data": {"text/html": "<script>GOT IT</script>"}},
    ]
    source = "def apply_rope(x, positions, theta=10000.0):\n    raise NotImplementedError"
    graded = {"nbgrader": {"grade": True, "points": 1000, "locked": True, "grade_id": "x"}}
    cells = [
        _cell(source, 1, outputs=outputs),
        _cell("assert True\nprint('GOT IT')", 2, outputs=outputs, metadata=graded),
    ]
    return _notebook(place, "faked_outputs", cells)


@built("a deleted cell cannot be wrong", full=("3.1",), says=("not implemented",))
def notebook_without_a_cell(place):
    return _notebook(place, "without_a_cell", [_cell(_rope_cells(place)[0], 1)])


@built("the right one of two cells is taken", full=ROPE)
def notebook_with_a_cell_twice(place):
    first, second = _rope_cells(place)
    wrong = "def apply_rope(x, positions, theta=10000.0):\n    return x\n"
    cells = [_cell(first, 1), _cell(wrong, 1), _cell(second, 1)]
    return _notebook(place, "cell_twice", cells)


@built("the wrong cell comes last", full=("3.1",), some={"3.2": 3 / 17})
def notebook_with_a_wrong_cell_last(place):
    first, second = _rope_cells(place)
    wrong = "def apply_rope(x, positions, theta=10000.0):\n    return x * 0\n"
    return _notebook(place, "wrong_cell_last", [_cell(s, 1) for s in (first, second, wrong)])


@built("runs commands by magics and cell by cell ends the program", full=ROPE)
def notebook_of_magics(place):
    first, second = _rope_cells(place)
    evil = [
        f"!touch /tmp/{TRACE}_shell",
        f"%%bash\ntouch /tmp/{TRACE}_bash",
        f"%%writefile /tmp/{TRACE}_file\nGOT IT",
        f"%run /tmp/{TRACE}.py\nget_ipython().system('touch /tmp/{TRACE}_ipython')",
        "import sys\nsys.exit(0)",
        "raise KeyboardInterrupt",
        "((((",
        "\0",
        "quit()",
    ]
    cells = [_cell(source, n) for n, source in enumerate([first, *evil, second])]
    return _notebook(place, "magics", cells, metadata={"kernelspec": {"name": "../../bin/sh"}})


@built("hangs before anything is defined", says=("did not return within",))
def notebook_that_never_ends(place):
    cells = [_cell("while True: pass", 1), *(_cell(s, 2) for s in _rope_cells(place))]
    return _notebook(place, "never_ends", cells)


@built("overflows the reader of JSON", **REFUSED, says=("not readable JSON",))
def notebook_nested_deep(place):
    path = place.folder / "nested_deep.ipynb"
    path.write_text('{"cells":' + "[" * 200_000 + "]" * 200_000 + "}")
    return path


@built("breaks who expects a list of cells", **REFUSED, says=("notebook",))
def notebook_of_nonsense(place):
    path = place.folder / "nonsense.ipynb"
    path.write_text('{"nbformat": 1e999, "cells": NaN, "metadata": -Infinity}')
    return path


# --- names


def _named(place: Place, name: str | bytes) -> Path:
    """An honest submission in a folder of this name."""
    raw = name if isinstance(name, bytes) else name.encode()
    path = Path(os.fsdecode(os.fsencode(place.folder) + b"/" + raw))
    path.mkdir()
    (path / "rope.py").write_text(_rope(place))
    return path


NAMES = {
    "formula": "=cmd|' !C calc'!A0",
    "option": "--out=hostile_trace",
    "newline": "ana\nbob,100\r\n",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x1b[31mred",
    "html": "<script>alert('x')<!-- &amp;",
    "markup": "[bold red]{{7*7}}%s%n${x}",
    "direction": "\u202egpj.ylppa\u2066\u200b",
    "spaces": " . ",
    "longest": "n" * 255,
    "not_text": b"\xff\xfe\xc3\x28",
    "reserved": "con",
    "climbing": "x\\..\\..\\hostile_trace",
    "twins_1": "same name",
    "twins_2": "same_name",
}
for _title, _name in NAMES.items():
    BUILT.append(
        Attack(
            f"named_{_title}",
            "its name is run, rendered or used as a path",
            full=ROPE,
            build=lambda place, name=_name: _named(place, name),
        )
    )


@built("its name is used as a path", **REFUSED)
def archive_named_to_climb(place):
    return _zip(place, f"y\\..\\..\\{TRACE}", {"notes.txt": "GOT IT"})
