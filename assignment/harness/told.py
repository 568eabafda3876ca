"""Diagnoses in words."""

from __future__ import annotations

from .diagnosis import Diagnosis
from .known_bugs import known_bugs, language

_WORDS = {
    "en": {
        "fact": "Part {part} equals, in {tests} to {error:.0e}, {what}.",
        "test": "1 test",
        "tests": "{n} tests",
        "and": " and, in the same code, ",
        "or": "; or ",
        "unsure": " (No test here tells these apart.)",
        "none": "Part {part}: no known bug computes the same.",
    },
    "zh": {
        "fact": "第 {part} 部分在 {tests}中（误差 {error:.0e}）与此相同：{what}。",
        "test": " 1 个测试",
        "tests": " {n} 个测试",
        "and": "，同时又是",
        "or": "；或者",
        "unsure": "（这里没有测试能区分它们。）",
        "none": "第 {part} 部分：没有已知的 bug 算出同样的结果。",
    },
}


def fact(diagnosis: Diagnosis) -> str:
    """The finding as a statement: what the code equals, in how many tests, and how closely."""
    words, texts = _WORDS[language()], known_bugs()
    sets = [
        words["and"].join(texts[name].summary[language()] for name in bugs)
        for bugs in diagnosis.alternatives
    ]
    n_tests = diagnosis.n_tests
    tests = words["test"] if n_tests == 1 else words["tests"].format(n=n_tests)
    # Below this, equal is all that can be said of numbers in float64.
    error = max(diagnosis.error, 1e-16)
    sentence = words["fact"].format(
        part=diagnosis.part, tests=tests, error=error, what=words["or"].join(sets)
    )
    return sentence + (words["unsure"] if len(sets) > 1 else "")


def no_match(part: int) -> str:
    """That no known bug explains the failures of a part."""
    return _WORDS[language()]["none"].format(part=part)


def explanation(name: str) -> str:
    """The paragraph on a known bug."""
    return known_bugs()[name].explanation[language()]
