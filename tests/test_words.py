"""Every message of the homework can be said in Chinese, and none goes around the one function."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from words_support import (
    CHINESE,
    Said,
    calls,
    invented,
    not_chinese,
    said_in_sources,
    shortened,
    titles,
    tree,
)

from assignment.harness import words
from assignment.harness.compare import Mismatch, check_array
from assignment.harness.hints import HINTS_FILE, hint, part_hints
from assignment.harness.known_bugs import known_bugs
from assignment.harness.parts import PARTS, SERVING_PART, TORCH_PART

ROOT = Path(__file__).parent.parent
HARNESS = [
    *sorted((ROOT / "assignment" / "harness").rglob("*.py")),
    ROOT / "assignment" / "look.py",
]
DICTIONARY = words.DICTIONARY.chinese
TESTS = sorted((ROOT / "assignment").glob("test_*.py"))

# Functions whose text a student reads, and where among their arguments it stands.
SINKS = {
    "Mismatch": 0,
    "CheckFailed": 0,
    "ImportError": 0,
    "add": 0,
    "_line": 0,
    "muted": 0,
    "section": 1,
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
        for _, node in calls(path, "check_array", "check_trace"):
            tuples += [a for a in node.args[3:] if isinstance(a, ast.Tuple)]
    values = {e.value for t in tuples for e in t.elts if isinstance(e, ast.Constant)}
    return {f"{value} {{n}}" for value in values if isinstance(value, str)}


def said() -> list[Said]:
    return said_in_sources((*HARNESS, *TESTS))


def every_text() -> set[str]:
    parts = {part.title for part in (*PARTS, SERVING_PART, TORCH_PART)}
    return {text for text, _ in said()} | titles(TESTS) | axes() | parts | LOOKED_UP


def test_every_message_has_a_translation():
    assert len(every_text()) > 150
    assert sorted(every_text() - DICTIONARY.keys()) == []


def test_no_translation_is_left_over():
    assert sorted(DICTIONARY.keys() - every_text()) == []


def test_a_translation_uses_what_its_message_is_given():
    assert invented(said(), DICTIONARY) == []
    assert shortened(every_text(), DICTIONARY, may_go={"axis", "last"}) == []


def test_translations_are_chinese():
    same = {"batch {n}", "token {n}", "query {n}", "key {n}", "i {n}", "j {n}", "k {n}"}
    same |= {
        ", ",
        "; ",
        ".",
        " ",
        "{sentence}.",
        "{n} of {all}",
        "{listed}, {part}",
        "{name}: {words}",
    }
    assert not_chinese(DICTIONARY, same | {"the logits", "{what} of {place}"}) == []


def test_english_needs_no_dictionary():
    """A student's run in English reads no file of words."""
    nowhere = words.Dictionary(Path("is-not-there.toml"))
    words.speak("en")
    try:
        assert nowhere.tr("{n} of 3", n=2) == "2 of 3" and nowhere.spoken("Part") == "Part"
        words.speak("zh")
        with pytest.raises(FileNotFoundError):
            nowhere.spoken("Part")
    finally:
        words.speak(None)


def test_the_first_file_that_has_a_text_counts(tmp_path, chinese):
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text('"a" = "甲"', encoding="utf-8")
    second.write_text('"a" = "A"\n"b" = "乙"', encoding="utf-8")
    both = words.Dictionary(first, second)
    assert [both.spoken(text) for text in "abc"] == ["甲", "乙", "c"]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", ["0 tests", "1 test", "1.5 tests"]), ("zh", [" 0 个测试", " 1 个测试", " 1.5 个测试"])],
)
def test_a_number_decides_about_the_plural(language, said):
    words.speak(language)
    try:
        assert [words.tr_n(n, "1 test", "{n} tests") for n in (0, 1, 1.5)] == said
    finally:
        words.speak(None)


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
    said_in_sources([path])  # and none is a text that no test can look up


def test_a_message_around_the_function_is_found(tmp_path):
    path, code = tmp_path / "new.py", tmp_path / "code.py"
    path.write_text('def f(n):\n    what = f"the {n} logits"\n    check_array(1, 2, what)\n')
    assert untranslated(path) == ["the 0 logits"]
    code.write_text('def f(n):\n    check_array(1, 2, f"softmax(x, {n})")\n')
    assert untranslated(code) == []
    for call in ('tr(f"{n} tests")', "tr(n)", 'tr_n(n, "1 test", n)', 'tr("{n} tests")'):
        unread = tmp_path / f"unread-{hash(call)}.py"
        unread.write_text(f"def f(n):\n    return {call}\n")
        with pytest.raises(AssertionError, match=f"{unread.name}:2"):
            said_in_sources([unread])


def test_hints_and_bugs_are_in_both_languages():
    texts = [text for hints in part_hints().values() for text in hints]
    for bug in known_bugs().values():
        texts += [bug.summary, bug.explanation, *bug.hints]
    assert set(part_hints()) == {part.number for part in PARTS}
    assert len(tomllib.loads(HINTS_FILE.read_text(encoding="utf-8"))) == len(PARTS)
    assert [text for text in texts if not text.en or not CHINESE.search(text.zh)] == []


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
