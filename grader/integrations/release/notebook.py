"""The homework as one notebook, homework.ipynb: the handout's text, and a cell for each function.

It is handed in whole, in place of the .py files. The graders take the functions from the cells as
a kernel would; lines that begin with `%` are not for them, so the tests are run by such lines.
"""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from assignment.harness.parts import PARTS, STUDENT_MODULES, Part
from assignment.harness.words import Text
from grader.base.words import language, spoken, tr
from grader.intake.course import PACKAGE
from grader.integrations.nbgrader.handout import PartText, part_texts

NAME = "homework.ipynb"
BUNDLE = "kv-cache-homework"
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_TITLE = Text(
    en="""\
# Attention and KV-cache decode

Start Jupyter in the folder that holds this notebook and `assignment/`. Write each function in its
cell, in place of `raise NotImplementedError(...)`, and run the cell; the cell at the end of a part
runs its tests on what you wrote. Restart the kernel and run all cells before you hand in. Where the
notebook stands alone, as on Colab, its first cell unpacks the zip with the rest.

The same homework, without a notebook, is `assignment/README.md` and the files beside it. Hand in
one of the two: where `.py` files of the homework are handed in as well, those are graded.""",
    zh="""\
# 注意力与 KV cache decode

在放着这个 notebook 和 `assignment/` 的文件夹里启动 Jupyter。每个函数写在它的单元里，换掉
`raise NotImplementedError(...)`，再运行这个单元；每一部分最后的单元会对你写的函数跑测试。
交之前，请重启内核，把所有单元运行一遍。只有 notebook 时（比如在 Colab 上），第一个单元会解压
其余文件所在的 zip。

不用 notebook 的同一份作业是 `assignment/README.zh.md` 和它旁边的文件。两样里交一样：
如果作业的 `.py` 文件也一起交了，评的是那些文件。""",
)

# In Python without magics: the graders run it like any cell.
_UNPACK = """\
# Does nothing where assignment/ is there; else unpacks {archive}, which is fetched from
# ADDRESS or was uploaded beside this notebook.
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import urllib.request

ADDRESS = {address}
if importlib.util.find_spec("assignment") is None:
    if ADDRESS and not pathlib.Path("{archive}").exists():
        urllib.request.urlretrieve(ADDRESS, "{archive}")
    if not pathlib.Path("{archive}").exists():
        raise FileNotFoundError("Upload {archive} (Colab: folder at the left) and run this again")
    shutil.unpack_archive("{archive}")
    all_but_this = shutil.ignore_patterns("{notebook}")
    shutil.copytree("{folder}", ".", dirs_exist_ok=True, ignore=all_but_this)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *{needs}], check=True)
    importlib.invalidate_caches()"""


def homework_notebook(
    modules: Mapping[str, str], needs: Iterable[str] = (), address: str = ""
) -> bytes:
    """The notebook of the sources of the student's modules, by name, as stubs or filled in.

    Its text is in the language spoken.

    Args:
        needs: what pip is to install where the notebook stands alone.
        address: where it finds the students' bundle then.

    Raises:
        ValueError: a listed function is not defined in its module.
    """
    imports, functions = _split(modules)
    cells = [
        _markdown("title", _TITLE.spoken),
        _code("alone", _unpack(needs, address)),
        _code("imports", imports),
    ]
    texts = part_texts(language())
    for part in PARTS:
        cells += _cells_of(part, texts[part.number], functions)
    cells += [_markdown("all", f"## {tr('All parts together')}"), _code("all-tests", _tests())]
    notebook = {"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    return text.encode() + b"\n"


def _cells_of(part: Part, text: PartText, functions: Mapping[str, str]) -> Iterator[dict]:
    heading = tr("Part {part}: {title}", part=part.number, title=spoken(part.title))
    yield _markdown(f"part{part.number}", f"## {heading}\n\n{text.opening}")
    for name in part.functions:
        section = part.section_of(name)
        if section in text.sections:  # Part 11's docstrings say all there is to say
            yield _markdown(f"text-{name}", text.sections[section])
        if name not in functions:
            raise ValueError(f"{part.module}.py does not define {name}")
        yield _code(name, functions[name])
    if text.closing.strip():
        yield _markdown(f"part{part.number}-closing", text.closing.strip())
    yield _code(f"part{part.number}-tests", _tests(f"part{part.number}"))


def _unpack(needs: Iterable[str], address: str) -> str:
    return _UNPACK.format(
        archive=f"{BUNDLE}.zip",
        address=json.dumps(address),
        folder=BUNDLE,
        notebook=NAME,
        needs=json.dumps(list(needs)),
    )


def _tests(*words: str) -> str:
    return " ".join(("%run -i run_tests.py", *words))


def _split(modules: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """One cell of imports for all modules, and the source of each listed function or class.

    Whatever else stands in a module goes into the cell of the listed function it follows, or of
    the first one.
    """
    listed = {name for part in PARTS for name in part.functions}
    imports: dict[str, None] = {}
    functions: dict[str, str] = {}
    for module, source in modules.items():
        lines = source.splitlines()
        tree = ast.parse(source)
        before, current = "", ""
        for node in tree.body:
            text = "\n".join(lines[_first_line(node) - 1 : node.end_lineno])
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports |= dict.fromkeys(_import_lines(node, module))
            elif (name := getattr(node, "name", "")) in listed:
                current = name
                functions[current] = before + text
                before = ""
            elif _is_docstring(node):
                continue
            elif current:
                functions[current] += f"\n\n\n{text}"
            else:
                before += f"{text}\n\n\n"
    own_last = sorted(imports, key=lambda line: ("assignment" in line, "numpy" in line, line))
    return "\n".join(own_last), functions


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _import_lines(node: ast.Import | ast.ImportFrom, module: str) -> Iterator[str]:
    """As a notebook needs them: what earlier modules define is in the notebook already.

    What a later one defines is imported as the stub it is, until its cell is run.
    """
    if isinstance(node, ast.Import):
        yield ast.unparse(node)
        return
    earlier = STUDENT_MODULES[: STUDENT_MODULES.index(module)]
    if node.module == "__future__" or (node.level and node.module in earlier):
        return
    home = f"{PACKAGE}.{node.module}" if node.level else node.module
    for alias in node.names:
        yield ast.unparse(ast.ImportFrom(home, [alias], 0))


def _markdown(name: str, source: str) -> dict:
    return {"cell_type": "markdown", "id": _id(name), "metadata": {}, "source": _lines(source)}


def _code(name: str, source: str) -> dict:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": _id(name),
        "metadata": {},
        "outputs": [],
        "source": _lines(source),
    }


def _id(name: str) -> str:
    """nbformat allows letters, digits, `-` and `_`."""
    return re.sub(r"[^\w-]", "-", name)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)
