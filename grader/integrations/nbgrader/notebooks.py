"""Write the homework as notebooks for nbgrader, from the solution, the handout and the tests.

A notebook holds a part: its text, a cell for each function with the solution between nbgrader's
markers, a cell for each test behind the function it tests, and questions for people to grade.
"""

from __future__ import annotations

import ast
import re

import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from assignment.harness.parts import PART_BY_NUMBER, PARTS, STUDENT_MODULES, Part
from assignment.harness.words import Text
from grader.authoring.in_words import Question, questions
from grader.authoring.skeleton import BEGIN, END, SOLUTION
from grader.base.words import language, spoken, spoken_title, tr, tr_n

from .cells import GradeCell, grade_cells, notebook_name, solution_id
from .handout import PartText, part_texts

SCHEMA_VERSION = 3
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
_RULER = re.compile(r"\n*# --- Part .*\n*")

# Tests that call a function further down than the one they grade stand behind that one.
STANDS_BEHIND = {"test_rollback": "decode_step"}

WELCOME = Text(
    en="""\
# {title}

Write your code where it says `YOUR CODE HERE`, and run the cells from top to bottom. Behind each
function stand its tests: a cell that prints nothing has passed. Save before you go to another part.

- The notebooks of all parts lie in one folder and are handed in together. This one takes your
  functions of the other parts from their notebooks, as you last saved them: after a change there,
  restart this kernel. Where the text says to import one of them, it is there already.
- A mistake in another part costs no points in this one: when your work is graded, a test that fails
  is tried again with right versions of the other parts.
- Functions keep the dtype they are given and change no input. A mask is boolean, True = may attend.
  Weights are `(d_in, d_out)`, applied as `x @ w`. Use numpy and the standard library only.
- Grading adds tests of the same kind with other numbers, and a few longer ones.

Docstrings cite the course documents: **L2** is *Lecture 2 · Transformer*, **D3** is *Day 3 ·
Self-attention*. You need Python 3.11 or newer and `pip install numpy pytest hypothesis`.
""",
    zh="""\
# {title}

在写着 `YOUR CODE HERE` 的地方写你的代码，从上到下运行各个单元。每个函数后面就是它的测试：
什么也不打印，就是通过了。换到另一部分之前请先保存。

- 各部分的 notebook 放在同一个文件夹里，一起交。这一份会从其他部分的 notebook 取你的函数，
  取的是上次保存的版本：改了那边，请重启这里的内核。正文里说要导入的函数，这里已经有了。
- 别的部分有错，不扣这一部分的分：评分时，没有通过的测试会把其他部分换成正确的版本再试一次。
- 函数给什么 dtype 就还什么 dtype，不改动输入。掩码是布尔数组，True = 可以看。
  权重是 `(d_in, d_out)`，用法是 `x @ w`。只用 numpy 和标准库。
- 评分时会加上同类的、换了数字的测试，还有几个更长的。

docstring 里引用的课程讲义：**L2** 是 *Lecture 2 · Transformer*，
**D3** 是 *Day 3 · Self-attention*。
需要 Python 3.11 或更新的版本，以及 `pip install numpy pytest hypothesis`。
""",
)
ANSWER_IN_WORDS = Text(
    en="## In your own words\n\nA person reads these. Three sentences are often enough.",
    zh="## 用自己的话回答\n\n这几题由人来看。通常三句话就够了。",
)


def make_notebooks() -> dict[str, NotebookNode]:
    """Every notebook, solution and hidden tests included, by its name without suffix.

    Text and titles are in the language spoken, code and docstrings in English.
    """
    texts, cells = part_texts(language()), grade_cells()
    return {
        notebook_name(part.number): _notebook(
            part, texts[part.number], [cell for cell in cells if cell.part == part.number]
        )
        for part in PARTS
    }


def to_text(notebook: NotebookNode) -> str:
    """The notebook's file; the same notebook gives the same bytes."""
    return nbformat.writes(notebook, version=4) + "\n"


def _notebook(part: Part, text: PartText, tests: list[GradeCell]) -> NotebookNode:
    imports, functions = _split_module(part.module)
    cells = [
        _text("welcome", WELCOME.spoken.format(title=_title(part))),
        _code("imports", imports),
        _code(
            "setup",
            "from assignment.harness.notebook import check, open_part, written\n\n"
            f"open_part({part.number}, globals())  # your functions of the other parts",
            locked=True,
        ),
        _text("idea", text.opening),
    ]
    for name in part.functions:
        section = part.section_of(name)
        if section in text.sections:  # Part 11's docstrings say all there is to say
            cells.append(_text(f"text-{name}", text.sections[section]))
        cells.append(_code(solution_id(name), functions[name], solution=True))
        cells += [_test(test) for test in tests if _stands_behind(test, part) == name]
    cells.append(_text("mistakes", text.closing))
    asked = [question for question in questions() if question.part == part.number]
    if asked:
        cells.append(_text("questions", ANSWER_IN_WORDS.spoken))
    for question in asked:
        cells += _question(question)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    notebook = new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(notebook)
    return notebook


def _title(part: Part) -> str:
    return tr("Part {part}: {title}", part=part.number, title=spoken(part.title))


def _stands_behind(cell: GradeCell, part: Part) -> str:
    """The last function that a test calls; some tests name it in their parameters."""
    named = [name for name in part.functions if cell.case.startswith(f"{name}-")]
    return STANDS_BEHIND.get(cell.test) or (named or [_graded_function(cell, part)])[0]


def _graded_function(cell: GradeCell, part: Part) -> str:
    return part.functions[int(cell.section.split(".")[1]) - 1]


def _test(cell: GradeCell) -> NotebookNode:
    """The hidden line puts the instructor's `check` in place of the student's."""
    points = tr_n(cell.points, "1 point", "{n:g} points")
    title = spoken_title(cell.title, cell.variant)
    arguments = ", ".join(f'"{word}"' for word in (cell.test, cell.case) if word)
    hidden = (
        "### BEGIN HIDDEN TESTS\n"
        "from grader.integrations.nbgrader.kernel import check\n{more}"
        "### END HIDDEN TESTS"
    )
    if cell.hidden_only:
        source = (
            f"# {tr('Hidden test, run when your work is graded')}: {title}: {points}\n"
            f'written("{_graded_function(cell, PART_BY_NUMBER[cell.part])}")\n'
            + hidden.format(more=f"\ncheck({arguments})\n")
        )
    else:
        source = f"# {title}: {points}\n" + hidden.format(more="") + f"\ncheck({arguments})"
    return _code(cell.grade_id, source, points=cell.points, locked=True)


def _question(question: Question) -> list[NotebookNode]:
    points = tr("{n:g} points", n=question.points)
    first, second = (question.zh, question.en) if language() == "zh" else (question.en, question.zh)
    asked = f"**{first}** ({points})\n\n{second} ({question.source})"
    rubric = "\n".join(f"- {line}" for line in question.rubric)
    answer = f"{BEGIN}\n{question.answer}\n\nPoints:\n\n{rubric}\n{END}"
    graded = new_markdown_cell(answer, id=_cell_id(question.id))
    graded.metadata = _marks(question.id, points=question.points, solution=True)
    graded.metadata["nbgrader"]["cell_type"] = "markdown"
    return [_text(f"ask-{question.id}", asked), graded]


def _text(name: str, source: str) -> NotebookNode:
    return new_markdown_cell(source.strip(), id=_cell_id(name))


def _code(
    name: str,
    source: str,
    points: float | None = None,
    solution: bool = False,
    locked: bool = False,
) -> NotebookNode:
    cell = new_code_cell(source.strip(), id=_cell_id(name))
    if points is not None or solution or locked:
        cell.metadata = _marks(name, points, solution, locked)
    return cell


def _marks(
    name: str, points: float | None = None, solution: bool = False, locked: bool = False
) -> NotebookNode:
    marks = {
        "grade": points is not None,
        "grade_id": name,
        "locked": locked,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        marks["points"] = points
    return nbformat.from_dict({"nbgrader": marks})


def _cell_id(name: str) -> str:
    """nbformat wants at most 64 letters, digits, `-` and `_`; the names here are distinct."""
    return re.sub(r"[^\w-]", "-", name)[:64]


def _split_module(module: str) -> tuple[str, dict[str, str]]:
    """Imports of a solution's module for a cell, and the source of each of its functions.

    A helper of the solution stands in the cell of the function before it, inside that function's
    markers, so that it vanishes with the solution.
    """
    source = (SOLUTION / f"{module}.py").read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    nodes = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
    ]
    listed = {name for part in PARTS for name in part.functions}
    imports, pieces = [], {}
    for node in nodes:
        text = "".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += _import_line(node, text)
        elif node.name in listed:
            last = node.name
            # The closing marker is a comment, and so outside of what ast calls the function.
            closing = _closing_marker(lines, node)
            pieces[last] = f"{text}{closing}"
        else:
            pieces[last] = _with_helper(pieces[last], text)
    return "\n".join(imports), pieces


def _closing_marker(lines: list[str], node: ast.stmt) -> str:
    end = node.end_lineno or len(lines)
    following = lines[end] if end < len(lines) else ""
    return following if following.strip() == END else ""


def _with_helper(function: str, helper: str) -> str:
    before, marker, after = function.rpartition(END)
    return f"{before.rstrip()}\n\n\n{helper.rstrip()}\n{marker}{after}"


def _import_line(node: ast.stmt, text: str) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        if node.module == "__future__" or (node.level and node.module in STUDENT_MODULES):
            return []
        if node.level:
            names = ", ".join(alias.name for alias in node.names)
            return [f"\nfrom assignment.{node.module} import {names}"]
    return [text.strip()]
