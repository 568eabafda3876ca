"""Submissions that compute nothing: tables of answers, from what a student can know."""

import hashlib
from types import SimpleNamespace

import hypothesis
import numpy as np

from assignment.harness import plugin  # noqa: F401 - registers the profile "homework"
from assignment.harness.cases import load_cases
from solution import rope

TABLE = '''"""Nothing is computed here."""
import hashlib
import numpy as np

def key(*args):
    digest = hashlib.sha256()
    for a in map(np.asarray, args):
        digest.update(repr((a.shape, a.dtype.str)).encode() + a.tobytes())
    return digest.hexdigest()[:16]

ANSWERS = {answers!r}

def look_up(*args):
    kind, shape, raw = ANSWERS[key(*args)]
    return np.frombuffer(bytes.fromhex(raw), kind).reshape(shape)

def apply_rope(x, positions, theta=10000.0):
    return look_up(x, positions, theta)

def rope_frequencies(head_dim, theta=10000.0):
    if head_dim == 7:
        raise ValueError("odd")
    return look_up(head_dim, theta)
'''


def key(*args) -> str:
    """As in TABLE: the arguments' bytes."""
    digest = hashlib.sha256()
    for a in map(np.asarray, args):
        digest.update(repr((a.shape, a.dtype.str)).encode() + a.tobytes())
    return digest.hexdigest()[:16]


def _source(answers: dict[str, np.ndarray]) -> str:
    rows = {k: (a.dtype.str, a.shape, a.tobytes().hex()) for k, a in answers.items()}
    return TABLE.replace("{answers!r}", repr(rows))


def of_public_answers() -> str:
    """The golden cases, which come with their answers."""
    answers = {}
    for name, case in load_cases().items():
        if name == "rope/many_positions":
            for theta, expected in zip(case.thetas, case.expected, strict=True):
                answers[key(case.x, case.positions, theta)] = expected
        elif name.startswith("rope/"):
            answers[key(case.x, case.positions, case.theta)] = case.expected
        if name == "rope_frequencies":
            answers[key(case.head_dim, case.theta)] = case.expected
    return _source(answers)


def of_public_calls() -> str:
    """Every call that the public tests of part 3 make: the same in every run at home.

    Takes somebody's right answers to make.
    """
    answers = {}

    def apply_rope(x, positions, theta=10000.0):
        answer = answers[key(x, positions, theta)] = rope.apply_rope(x, positions, theta)
        return answer

    def rope_frequencies(head_dim, theta=10000.0):
        answer = answers[key(head_dim, theta)] = rope.rope_frequencies(head_dim, theta)
        return answer

    student = SimpleNamespace(apply_rope=apply_rope, rope_frequencies=rope_frequencies)
    hypothesis.settings.load_profile("homework")  # the tests take it when they are imported
    from assignment import test_part3_rope

    cases = load_cases()
    for name in dir(test_part3_rope):
        if not name.startswith("test_"):
            continue
        test = getattr(test_part3_rope, name)
        for arguments in _arguments(test):
            with_cases = {"oracle": cases.__getitem__} if _asks_for(test, "oracle") else {}
            test(student=student, **with_cases, **arguments)
    return _source(answers)


def _asks_for(test, name: str) -> bool:
    return name in test.__code__.co_varnames[: test.__code__.co_argcount]


def _arguments(test) -> list[dict]:
    """The values of pytest's parametrize, where a test has it."""
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            name, values = mark.args
            return [{name: value} for value in values]
    return [{}]
