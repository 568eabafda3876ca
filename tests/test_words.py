"""Every message of the homework can be said in Chinese, and none goes around the one function."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from assignment.harness import words
from assignment.harness.compare import Mismatch, check_array
from assignment.harness.hints import PART_HINTS, hint
from assignment.harness.known_bugs import known_bugs
from assignment.harness.parts import PARTS, TORCH_PART
from assignment.harness.zh import CHINESE

ROOT = Path(__file__).parent.parent
HARNESS = sorted((ROOT / "assignment" / "harness").glob("*.py"))
TESTS = sorted((ROOT / "assignment").glob("test_*.py"))

# Functions whose text a student reads, and where among their arguments it stands.
SINKS = {
    "Mismatch": 0,
    "CheckFailed": 0,
    "ImportError": 0,
    "add": 0,
    "_line": 0,
    "check": 1,
    "check_refused": 1,
    "check_array": 2,
    "check_kind": 2,
    "check_differs": 2,
    "check_trace": 2,
    "check_length": 2,
}
# Texts that `spoken` looks up and that are no titles, parts or axes.
LOOKED_UP = {"large", "small", "first", "second"}
# A call as one would type it, as in "softmax(x, axis=0)", is the same in every language.
_CODE = re.compile(r"\w+(\(.*\))?")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path) -> list[tuple[str, ast.Call]]:
    found = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    return [(getattr(node.func, "id", getattr(node.func, "attr", "")), node) for node in found]


def translatable() -> list[tuple[str, ast.Call]]:
    """The English text of every `tr(...)`, and the call."""
    found = [node for path in (*HARNESS, *TESTS) for name, node in calls(path) if name == "tr"]
    return [(node.args[0].value, node) for node in found if isinstance(node.args[0], ast.Constant)]


def titles() -> set[str]:
    """The first line of the docstring of each graded test."""
    functions = [
        n for path in TESTS for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef)
    ]
    graded = [f for f in functions if any("graded(" in ast.unparse(d) for d in f.decorator_list)]
    return {ast.get_docstring(f).splitlines()[0].rstrip(".") for f in graded}


def axes() -> set[str]:
    """The names of axes: tuples called …AXES, and tuples handed to the comparing functions."""
    tuples = []
    for path in (*HARNESS, *TESTS):
        for node in ast.walk(tree(path)):
            target = getattr(node, "targets", [getattr(node, "target", None)])[0]
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and "axes" in ast.unparse(target).lower()
            ):
                tuples += [n for n in ast.walk(node) if isinstance(n, ast.Tuple)]
        for name, node in calls(path):
            if name in ("check_array", "check_trace"):
                tuples += [a for a in node.args[3:] if isinstance(a, ast.Tuple)]
    values = {e.value for t in tuples for e in t.elts if isinstance(e, ast.Constant)}
    return {f"{value} {{n}}" for value in values if isinstance(value, str)}


def fields(template: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(template) if field is not None}


def every_text() -> set[str]:
    parts = {part.title for part in (*PARTS, TORCH_PART)}
    return {text for text, _ in translatable()} | titles() | axes() | parts | LOOKED_UP


def test_every_message_has_a_translation():
    assert len(every_text()) > 150
    assert sorted(every_text() - CHINESE.keys()) == []


def test_no_translation_is_left_over():
    assert sorted(CHINESE.keys() - every_text()) == []


def test_a_translation_uses_what_its_message_is_given():
    wrong = []
    for text, call in translatable():
        given = {keyword.arg for keyword in call.keywords if keyword.arg} | fields(text)
        if fields(CHINESE[text]) - given:
            wrong.append(text)
    assert wrong == []
    lost = [
        text for text in every_text() if fields(text) - fields(CHINESE[text]) - {"axis", "last"}
    ]
    assert lost == [], "the Chinese text leaves something out"


def test_translations_are_chinese():
    plain = {"batch {n}", "token {n}", "query {n}", "key {n}", "i {n}", "j {n}", "k {n}"}
    same = {", ": "，", "the logits": "logits", "{what} of {place}": "{what}，{place}"}
    chinese = re.compile("[\u4e00-\u9fff]")
    rest = {e: z for e, z in CHINESE.items() if e not in plain and same.get(e) != z}
    assert [english for english, text in rest.items() if not chinese.search(text)] == []


def literal_parts(node: ast.expr) -> str:
    """The text of a string, with 0 where values go; "" for what is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "0" for v in node.values)
    return ""


def untranslated(path: Path) -> list[str]:
    """Texts for people that were not given to `tr`: in a sink itself, or in a name given to it."""
    found = []
    for function in ast.walk(tree(path)):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            place = SINKS.get(name)
            if place is None or len(node.args) <= place:
                continue
            argument = node.args[place]
            named = assigned.get(argument.id, []) if isinstance(argument, ast.Name) else [argument]
            texts = [literal_parts(value) for value in named]
            found += [t for t in texts if re.search("[A-Za-z]", t) and not _CODE.fullmatch(t)]
    return found


@pytest.mark.parametrize("path", [*HARNESS, *TESTS], ids=lambda path: path.stem)
def test_every_message_goes_through_the_one_function(path):
    assert untranslated(path) == []
    dynamic = [n for name, n in calls(path) if name == "tr" and not literal_parts(n.args[0])]
    assert dynamic == [], "tr is given a text that no test can look up"
    formatted = [
        n for name, n in calls(path) if name == "tr" and isinstance(n.args[0], ast.JoinedStr)
    ]
    assert formatted == [], "an f-string is filled in before it is looked up"


def test_a_message_around_the_function_is_found(tmp_path):
    path, code = tmp_path / "new.py", tmp_path / "code.py"
    path.write_text('def f(n):\n    what = f"the {n} logits"\n    check_array(1, 2, what)\n')
    assert untranslated(path) == ["the 0 logits"]
    code.write_text('def f(n):\n    check_array(1, 2, f"softmax(x, {n})")\n')
    assert untranslated(code) == []


def test_hints_and_bugs_are_in_both_languages():
    chinese = re.compile("[\u4e00-\u9fff]")
    pairs = [pair for texts in PART_HINTS.values() for pair in texts]
    for bug in known_bugs().values():
        pairs += [(t["en"], t["zh"]) for t in (bug.summary, bug.explanation, *bug.hints)]
    assert set(PART_HINTS) == {part.number for part in PARTS}
    assert [en for en, zh in pairs if not en or not chinese.search(zh)] == []


@pytest.fixture
def chinese():
    words.speak("zh")
    yield
    words.speak(None)


def test_a_mismatch_in_chinese(chinese):
    import numpy as np

    expected = np.arange(12.0).reshape(3, 2, 2)
    got = expected.copy()
    got[1, 0, 1] += 1
    with pytest.raises(Mismatch) as caught:
        check_array(got, expected, words.tr("the logits"), ("step", "batch", "token"))
    assert str(caught.value).splitlines() == [
        "logits：形状 (3, 2, 2) 和 dtype float64 都对，数值不对",
        "第一处错误：第 1 步，batch 0，token 1；得到 6，应为 5",
        "最大误差 0.091（第 1 步，batch 0，token 1），容差 1e-09",
        "12 个值里错了 1 个；正确：第 0 步；正确：token 0",
    ]
    assert caught.value.first_bad == {"step": 1, "batch": 0, "token": 1}


def test_a_hint_in_chinese(chinese):
    assert hint("rope:2").startswith("第 3 部分，旋转位置编码（RoPE），提示 2（共 3 级）")


def test_chinese_breaks_between_signs_and_not_before_a_full_stop(chinese):
    text = "旋转不改变向量的长度，而你的 apply_rope 改变了。"
    for columns in range(12, 50):
        lines = words.wrap(text, columns)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert all(words.width(line) <= columns + 2 for line in lines)
        assert not any(line.startswith(("，", "。")) for line in lines)
        assert any("apply_rope" in line for line in lines)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(monkeypatch, variables, expected):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    words._of_locale.cache_clear()
    assert words.language() == expected
    words._of_locale.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--lang", "zh", "-k", "rope"], "第 3 部分  旋转位置编码（RoPE）"),
        (["--lang", "en", "-k", "rope"], "Part 3  Rotary positions (RoPE)"),
        (["--lang", "zh", "--hint", "gqa"], "第 5 部分，分组查询注意力（GQA），提示 1"),
    ],
)
def test_lang_chooses_the_language_of_a_run(arguments, says):
    """Against a locale that says the other."""
    locale = "zh_CN.UTF-8" if "en" in arguments else "C.UTF-8"
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider", *arguments]
    result = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": locale, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert says in result.stdout
