"""Errors are not carried forward: trusted parts in place of the student's, and what may be told."""

from __future__ import annotations

import ast
import io
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rich.console import Console
from sandbox_support import SLOT

from assignment.harness.models import random_model
from assignment.harness.parts import PART_BY_NUMBER, STUDENT_MODULES
from assignment.harness.points import Grading, grading_of
from grader.authoring.sample_class import KEPT
from grader.grade_class import grade_class
from grader.grading import exchange, reach
from grader.grading.charges import RIGHT, WRONG, settled
from grader.grading.exchange import (
    PART_OF,
    Exchange,
    exchangeable,
    exchangeable_parts,
    trusted_parts,
)
from grader.grading.result import result_of
from grader.grading.second_run import Helped, repeated
from grader.grading.submission import waiting
from grader.grading.suite import Suite
from grader.known_bugs import Conflict, all_bugs, bug_named, make_variant
from grader.reports.class_table import print_result
from grader.results.record import ImportFailure, TestResult, read_record
from grader.sandbox import Limits, SandboxUnavailable, choose_sandbox
from grader.sandbox.remote import RemoteStudent

SOLUTION = Path(__file__).parents[1] / "solution"
CASES = tomllib.loads(Path(__file__).with_name("wrong.toml").read_text(encoding="utf-8"))["trust"]

# For a kv_cache.py that tells the trusted attention.py to whoever listens, once it can see it.
LEAK = """
import sys
from . import attention

n_calls = 0

def told(model):
    name = attention.softmax.__module__
    if name.startswith("_trusted"):
        leak(sys.modules[name].__loader__.get_source(name), model)

def leak(source, model):
"""
SILENT = """
    pass
"""
BY_ARRAY_AND_PRINT = """
    print("LEAKED", source)
    print("LEAKED", source, file=sys.stderr)
    numbers = np.frombuffer(source.encode(), np.uint8).astype(model.dtype)
    model.logits = lambda x: np.resize(numbers, (len(x), model.config.vocab_size))
"""
BY_EXCEPTION = """
    global n_calls
    n_calls += 1
    if n_calls % 3 == 0:
        raise type("LEAKED_" + source.encode().hex()[:80], (ValueError,), {})("LEAKED")
    if n_calls % 3 == 1:
        raise ValueError("LEAKED " + source)
    code = "\\n" * 77000 + "def LEAKED():\\n    raise ValueError\\nLEAKED()"
    exec(compile(code, "/submission/assignment/kv_cache.py", "exec"), {})
"""


def text_of(module: str) -> str:
    return (SOLUTION / f"{module}.py").read_text(encoding="utf-8")


def changed(module: str, old: str, new: str) -> str:
    text = text_of(module)
    assert text.count(old) == 1
    return text.replace(old, new)


def unscaled() -> str:
    return changed("attention", " / math.sqrt(q.shape[-1])", "")


def wrong_rope() -> str:
    return changed("rope", "even * sin + odd * cos", "even * sin - odd * cos")


def handed_in(folder: Path, **changes: str) -> Path:
    """The solution, some of its modules changed, as a student would hand it in."""
    folder.mkdir(parents=True)
    for module in STUDENT_MODULES:
        text = changes.pop(module, None) or text_of(module)
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    for module, text in changes.items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return folder


def leaking(folder: Path, how: str) -> Path:
    """Part 3 is wrong, so that part 4 runs again, is wrong there too, and leaks."""
    kv_cache = changed("kv_cache", "    start, length =", "    told(model)\n    start, length =")
    kv_cache = kv_cache.replace("\n\nclass KVCache", f"{LEAK}{how}\n\nclass KVCache")
    kv_cache = kv_cache.replace("return model.logits(x[:, -1])", "return -model.logits(x[:, -1])")
    return handed_in(folder, rope=wrong_rope(), kv_cache=kv_cache)


def wrong_case(folder: Path, case: dict) -> Path:
    """A case of `trust` in wrong.toml as it is handed in."""
    if not case.get("alone"):
        changes = {file.removesuffix(".py"): text for file, text in case["files"].items()}
        return handed_in(folder, **{m: text_of(m) + text for m, text in changes.items()})
    folder.mkdir(parents=True)
    for file, text in case["files"].items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


def unscaled_notebook(path: Path) -> Path:
    text = (KEPT / "notebook.ipynb").read_text(encoding="utf-8")
    old = "np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])"
    assert text.count(old) == 1
    path.write_text(text.replace(old, "np.swapaxes(k, -1, -2)"), encoding="utf-8")
    return path


# --- whole submissions ---------------------------------------------------------------------------


def require_sandbox():
    try:
        return choose_sandbox("auto")
    except SandboxUnavailable as problem:
        pytest.skip(f"no sandbox here: {str(problem).splitlines()[0]}")


@pytest.fixture(scope="module")
def results(graded_class, tmp_path_factory) -> Path:
    """The sample class, and some more graded to it."""
    made = tmp_path_factory.mktemp("made")
    out = shutil.copytree(graded_class.results, made / "out")
    submissions = [
        unscaled_notebook(made / "unscaled-notebook.ipynb"),
        leaking(made / "silent", SILENT),
        leaking(made / "by-array", BY_ARRAY_AND_PRINT),
        leaking(made / "by-exception", BY_EXCEPTION),
        *(wrong_case(made / name, case) for name, case in CASES.items()),
    ]
    secret = graded_class.secret
    grade_class(submissions, out, secret_file=secret, real_model=False, quiet=True)
    return out


def record_of(results: Path, name: str):
    result, note = read_record(results, name)
    assert result is not None, note
    assert result.state == "graded", result.reason
    return result


def lost_parts(result) -> set[int]:
    """The parts with lost points, of those that are in the sample class."""
    lost = {test.part for test in result.tests if test.points < test.max_points}
    untouched = {test.part for test in result.tests if test.state == "not_started"}
    return lost - untouched


@pytest.mark.parametrize("name", ["bug-scale-missing", "unscaled-notebook"])
def test_a_mistake_in_part_1_costs_part_1_only(results, name):
    result = record_of(results, name)
    assert lost_parts(result) == {1}
    trusted = [test for test in result.tests if test.with_trusted_parts]
    assert {test.part for test in trusted} >= {2, 4, 5}
    assert all(test.message == RIGHT and test.own_message for test in trusted)


def test_a_module_that_cannot_be_imported_costs_its_own_part_only(results):
    result = record_of(results, "syntax-error")
    assert lost_parts(result) == {5}
    assert not any(test.with_trusted_parts for test in result.tests if test.part != 4)


def test_a_recompute_is_told_once_and_gets_no_decodes(results):
    result = record_of(results, "bug-recompute")
    held = {test.held_by.partition("[")[0] for test in result.tests if test.state == "waiting"}
    assert {name.rpartition("::")[2] for name in held} == {"test_decode_uses_the_cache"}
    assert lost_parts(result) == {4, 5}  # part 5 passes, and its decodes hang on part 4's cache
    assert not any(test.with_trusted_parts for test in result.tests)
    decodes = [t for t in result.tests if t.function == "test_decode_of_a_grouped_model"]
    assert {(test.state, test.points) for test in decodes} == {("waiting", 0)}


def test_a_wrong_decode_gets_no_more_than_a_recompute(results):
    """It keeps part 5, and part 4 pays for what hangs on a cache that is used."""
    wrong, recompute = (record_of(results, n) for n in ("bug-position-zero", "bug-recompute"))
    assert lost_parts(wrong) == {4}
    assert wrong.total <= recompute.total


@pytest.mark.parametrize("name", CASES)
def test_a_bug_costs_where_it_is_and_only_there(results, name):
    result = record_of(results, name)
    if "earns" in CASES[name]:
        assert result.total == CASES[name]["earns"]
        return
    lost: dict[int, float] = {}
    for test in result.tests:
        lost[test.part] = lost.get(test.part, 0.0) + test.max_points - test.points
    assert [part for part, points in lost.items() if points] == CASES[name]["loses"]
    assert all(lost[part] >= (0.5 if part != 11 else 0.25) for part in CASES[name]["loses"])


def test_a_wrong_exercise_wins_nothing(results):
    one, both = ("attention-raises-above-8-keys", "lose-a-quarter-win-36")
    assert record_of(results, both).total == record_of(results, one).total - 0.25


def test_a_point_by_trust_has_a_charge_and_the_report_says_for_what(results):
    for name in CASES:
        result = record_of(results, name)
        tests = {test.id: test for test in result.tests}
        charges = [test for test in result.tests if test.charge]
        for part in {part for test in result.tests for part in test.trusted_parts}:
            of_part = [test.charge for test in charges if test.part == part]
            left = sum(test.points for test in result.tests if test.part == part)
            assert sum(charge.points for charge in of_part) >= 0.5 or left == 0
            assert all(part in tests[charge.test].trusted_parts for charge in of_part)
    result = record_of(results, "rope-wrong-for-one-position")
    (charge,) = (test.charge for test in result.tests if test.charge)
    console = Console(width=200, record=True, file=io.StringIO())
    print_result(result, console)
    assert charge.in_words() in console.export_text()
    assert charge.title in charge.in_words()


def test_show_marks_points_earned_with_trusted_parts(results):
    console = Console(width=120, record=True, file=io.StringIO())
    print_result(record_of(results, "bug-scale-missing"), console)
    text = console.export_text()
    assert text.count(RIGHT) == text.count("with the student's own: ") > 10


@pytest.mark.parametrize("name", ["by-array", "by-exception"])
def test_a_trusted_run_tells_nothing_in_the_submissions_words(results, name):
    result = record_of(results, name)
    text = result.model_dump_json()
    source = text_of("attention")
    assert "LEAKED" not in text
    assert ":77" not in text
    assert not [line for line in source.splitlines() if line.strip() in text and len(line) > 30]
    assert source.encode().hex()[:40] not in text


def test_numbers_of_a_trusted_run_are_not_told(results):
    """Arrays that encode a text give the same record as arrays that do not."""
    silent, loud = (record_of(results, name).tests for name in ("silent", "by-array"))
    assert any(WRONG in test.message for test in loud)
    for one, other in zip(silent, loud, strict=True):
        assert one.model_copy(update={"seconds": 0}) == other.model_copy(update={"seconds": 0})


def test_an_exception_of_a_trusted_run_is_not_told(results):
    """They are the submission's choice: some bits a test, and the source in thirty runs."""
    silent, loud = (record_of(results, name).tests for name in ("silent", "by-exception"))
    again = [test.message.rpartition("\n")[2] for test in loud if WRONG in test.message]
    assert set(again) == {WRONG}
    assert [test.points for test in silent] == [test.points for test in loud]


# --- one worker ----------------------------------------------------------------------------------


def all_but(part: int) -> Exchange:
    others = frozenset(PART_BY_NUMBER) - {part}
    return Exchange(part, others, frozenset(f for f, of in PART_OF.items() if of != part))


def with_trusted(folder: Path, part: int, **changes: str) -> RemoteStudent:
    """A worker on a prepared submission; all parts but one are trusted."""
    given = {name: text_of(name) for name in ("__init__", "transformer")}
    handed_in(folder / "assignment", **given, **changes)
    return RemoteStudent(
        require_sandbox(), folder, Limits(), slot=SLOT, trusted=trusted_parts(all_but(part))
    )


def prefill_logits(student, n_kv_heads=2):
    config, params = random_model(seed=0, n_kv_heads=n_kv_heads)
    model = student.load_model(config, params)
    cache = student.KVCache(2, 1, n_kv_heads, 4, 6, np.dtype(float))
    return student.prefill(model, np.array([[1, 2, 3]]), cache)


@pytest.fixture(scope="module")
def right_logits(tmp_path_factory):
    with with_trusted(tmp_path_factory.mktemp("right") / "s", 4) as student:
        return prefill_logits(student)


ALL_IN_ONE = dict.fromkeys(STUDENT_MODULES, "from .everything import *\n")
LAZY = changed(
    "kv_cache", "    start, length =", "    from .rope import apply_rope\n    start, length ="
).replace("from .rope import apply_rope\nfrom", "from", 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"rope": wrong_rope()},
        {"rope": wrong_rope(), "kv_cache": LAZY},
        {"rope": wrong_rope(), "kv_cache": text_of("kv_cache").replace("from .", "from ")},
        {"attention": unscaled()},
        {"gqa": "def grouped_query_attention(:"},
        {"gqa": "import sys\nsys.exit()"},
        {"gqa": "from .rope import no_such_name\n"},
        {"gqa": "# nothing"},
        {
            "gqa": "from .helper import *",
            "helper": text_of("gqa").replace("heads.res", "-heads.res"),
        },
    ],
    ids="bug lazy siblings indirect syntax exit import missing helper".split(),
)
def test_mistakes_of_other_parts_do_not_reach_part_4(tmp_path, right_logits, changes):
    with with_trusted(tmp_path / "s", 4, **changes) as student:
        assert (prefill_logits(student) == right_logits).all()


def test_names_that_share_a_helper_module_are_exchanged_there(tmp_path, right_logits):
    modules = [wrong_rope() if m == "rope" else text_of(m) for m in STUDENT_MODULES]
    lines = "\n".join(modules).splitlines()
    inner = [s for s in lines if not s.startswith(("from .", "from __future__"))]
    everything = "from __future__ import annotations\nfrom .transformer import *\n"
    everything += "from .transformer import MLATransformer, Transformer\n" + "\n".join(inner)
    with with_trusted(tmp_path / "s", 4, **ALL_IN_ONE, everything=everything) as student:
        assert (prefill_logits(student) == right_logits).all()


def test_trusted_loops_call_the_students_function_under_test(tmp_path):
    own = changed(
        "gqa",
        "    batch, n_heads, length",
        "    raise ValueError('mine')\n    batch, n_heads, length",
    )
    with with_trusted(tmp_path / "s", 5, gqa=own) as student, pytest.raises(ValueError) as caught:
        prefill_logits(student)
    assert "mine" in str(caught.value)
    assert caught.value.student_where.startswith("gqa.py:")


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ("def grouped_query_attention(:", ImportError),
        ("# nothing", NotImplementedError),
        ("def grouped_query_attention(*a): raise NotImplementedError", NotImplementedError),
    ],
)
def test_trusted_loops_do_not_hide_a_missing_function(tmp_path, own, error):
    with with_trusted(tmp_path / "s", 5, gqa=own) as student, pytest.raises(error):
        prefill_logits(student)


def test_functions_of_numpy_stay_what_they_are(tmp_path):
    """`causal_mask = np.tri` is exchanged, np.tri is not."""
    attention = f"{text_of('attention')}\ncausal_mask = np.tri\n"
    gqa = "from numpy import tri\n\ndef mean_pool_kv_heads(w, *_):\n    return tri(2)\n"
    with with_trusted(tmp_path / "s", 5, attention=attention, gqa=gqa) as student:
        assert student.mean_pool_kv_heads(np.ones((2, 2)), 2, 1).dtype == np.float64
        assert student.causal_mask(1, 3).all()


# ---- What is exchanged while tests are repeated, what that gives, and what it costs


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[reach.Bench]:
    suite = Suite.load(b"charges", False, tmp_path_factory.mktemp("suite"))
    yield reach.Bench(suite)
    suite.close()


# --- what may be exchanged -----------------------------------------------------------------------


def test_what_may_be_exchanged_is_what_the_solution_reaches(bench):
    """With other cases than those it was traced with."""
    groups = {test: group["functions"] for group in reach.traced(bench) for test in group["tests"]}
    assert groups == {test: sorted_names(names) for test, names in exchange._stored().items()}


def sorted_names(names: frozenset[str]) -> list[str]:
    return [name for name in PART_OF if name in names]


def test_a_test_that_passes_without_its_part_exchanges_nothing(bench):
    item = next(i for i in bench.items if i.originalname == "test_multi_head_attention")
    alone = type("Bench", (), {"items": [item], "passes": staticmethod(lambda *_: True)})
    with pytest.raises(KeyError):  # of the real model's like: nothing was found
        reach.traced(alone)


@pytest.mark.parametrize("name", ["mla_absorbed", "KVCache"])
def test_what_could_answer_a_part_is_not_in_its_worker(name):
    """Nor is anything else that the solution does without."""
    blank = [t for t in blank_tests() if t.part in (1, 6)]
    assert not any(name in exchangeable(test) for test in blank)
    for test in blank:
        sources = trusted_parts(Exchange.of(test, exchangeable_parts(test))).sources
        assert not any(f"def {name}" in s or f"class {name}" in s for s in sources.values())


def test_a_worker_holds_the_functions_that_are_exchanged_and_no_others():
    for test in blank_tests():
        asked = Exchange.of(test, exchangeable_parts(test))
        given_ = trusted_parts(asked)
        bodies = [ast.parse(given_.sources[module]).body for module in STUDENT_MODULES]
        defined = {getattr(node, "name", None) for body in bodies for node in body}
        assert defined & PART_OF.keys() == asked.functions == set(given_.functions)
        assert not defined & set(PART_BY_NUMBER[test.part].functions)


@cache
def blank_tests() -> list[TestResult]:
    from grader.grading.suite import collect

    return collect(Suite(hidden_cases=None, real_model=None, hash=""))


# --- which parts help ----------------------------------------------------------------------------


def a_test(part: int, state: str = "failed", function: str = "test_it", **more) -> TestResult:
    return TestResult(
        id=more.pop("id", f"p{part}.py::{function}"),
        file=f"p{part}.py",
        function=function,
        part=part,
        section=f"{part}.1",
        title="it",
        visibility="public",
        points=2.0 if state == "passed" else 0.0,
        max_points=2.0,
        state=state,
        **more,
    )


REACHED = {"p4.py::test_it": frozenset({"softmax", "causal_mask", "apply_rope"})}


@pytest.fixture
def asked(monkeypatch):
    """Repeats of part 4's test, which passes where these parts are exchanged."""
    monkeypatch.setattr(exchange, "_stored", lambda: REACHED)

    def ask(needed: set[int], *tests: TestResult, seconds: float = 9.0):
        calls = []

        def run_again(what: Exchange, wanted: set[str], left: float):
            calls.append(what.parts)
            assert what.functions == {
                f for f in REACHED["p4.py::test_it"] if PART_OF[f] in what.parts
            }
            return (wanted if needed <= what.parts else set()), 4.0

        helped = repeated(tests, {}, run_again, seconds)
        return helped, calls

    return ask


def sets(*several: tuple[int, ...]) -> list[frozenset[int]]:
    return [frozenset(parts) for parts in several]


def test_a_part_that_is_wrong_for_sure_comes_first(asked):
    helped, calls = asked({3}, a_test(4), a_test(3))
    assert helped.by == {"p4.py::test_it": {3}}
    assert calls == sets((3,))


def test_a_part_whose_own_tests_miss_it_is_found(asked):
    helped, calls = asked({3}, a_test(4), seconds=99)
    assert helped.by == {"p4.py::test_it": {3}}
    assert calls == sets((1, 2, 3), (1,), (2,), (3,))


def test_two_that_are_needed_together_are_found_and_no_third(asked):
    helped, _ = asked({1, 3}, a_test(4), seconds=99)
    assert helped.by == {"p4.py::test_it": {1, 3}}
    helped, calls = asked({1, 3}, a_test(4), a_test(3), a_test(1), seconds=99)
    assert helped.by == {"p4.py::test_it": {1, 3}}
    assert calls == sets((1,), (3,), (1, 3))


def test_what_no_part_helps_is_repeated_once(asked):
    helped, calls = asked({9}, a_test(4))
    assert (helped.by, helped.not_at_all) == ({}, {"p4.py::test_it"})
    assert calls == sets((1, 2, 3))


def test_the_time_is_shared(asked):
    helped, calls = asked({3}, a_test(4), seconds=7.0)
    assert calls == sets((1, 2, 3), (1,))
    assert helped.by == {"p4.py::test_it": {1, 2, 3}}


NO_PYTHON = ImportFailure(kind="not_python", module="gqa", file="gqa.py", line=3, problem="it is")


@pytest.mark.parametrize(
    ("test", "tried"),
    [
        (a_test(4, "passed"), []),
        (a_test(4, "not_started"), []),
        (a_test(5, import_failure=NO_PYTHON), []),
        (a_test(8, import_failure=NO_PYTHON), sets((5,))),
        (a_test(8), []),
    ],
)
def test_what_another_part_cannot_help_is_not_repeated(asked, monkeypatch, test, tried):
    monkeypatch.setitem(REACHED, "p4.py::test_it", frozenset())
    assert asked({5}, test)[1] == tried


# --- what that gives and costs -------------------------------------------------------------------

FUNCTIONS = {4: ("uses", "decode"), 5: ("grouped", "pool"), 1: ("softmax", "attend")}
NEEDS = {"decode": ("uses",), "grouped": ("uses",)}


def gradings_of(tests: list[TestResult]) -> dict[str, Grading]:
    return {t.id: Grading(t.section, 2.0, "it", needs=NEEDS.get(t.function, ())) for t in tests}


def total(passed: set[str], by: dict[str, frozenset[int]]) -> float:
    tests = [
        a_test(part, "passed" if name in passed else "failed", name, id=f"f::{name}")
        for part, names in FUNCTIONS.items()
        for name in names
    ]
    helped = Helped({f"f::{name}": parts for name, parts in by.items()})
    return sum(test.points for test in settled(tests, gradings_of(tests), helped))


names = st.sampled_from([name for of_part in FUNCTIONS.values() for name in of_part])
helping = st.sets(st.sampled_from([1, 4, 5]), min_size=1, max_size=2).map(frozenset)


@given(st.sets(names), st.dictionaries(names, helping), names)
def test_one_more_test_right_never_lowers_the_total(passed, by, name):
    assert total(passed | {name}, by) >= total(passed, by)


@given(st.sets(names), st.dictionaries(names, helping), names, helping)
def test_one_more_test_that_a_part_helps_never_lowers_the_total(passed, by, name, parts):
    if name not in by:
        assert total(passed, by | {name: parts}) >= total(passed, by)


def test_a_part_is_exchanged_only_where_that_gives_more_than_it_costs():
    all_right = {name for of_part in FUNCTIONS.values() for name in of_part}
    assert total(all_right, {}) == 12
    assert total(all_right - {"pool"}, {"pool": frozenset({1})}) == 11.5
    assert total(set(), {"pool": frozenset({1})}) == 2  # a part without points is charged none


# --- drawn bugs ----------------------------------------------------------------------------------


class Graded:
    """Grades solutions with known bugs in this process: exchanged parts are those without them."""

    def __init__(self, bench: reach.Bench) -> None:
        self.bench = bench
        self.items = {t.id: i for i in bench.items if (t := result_of(i, None)).part <= 6}
        self.gradings = {test: grading_of(item) for test, item in self.items.items()}
        self._passes: dict[tuple, bool] = {}

    def passes(self, test: str, bugs: frozenset[str]) -> bool:
        if (test, bugs) not in self._passes:
            variant = variant_of(bugs)
            self._passes[test, bugs] = self.bench.passes(self.items[test], variant)
        return self._passes[test, bugs]

    def right(self, bugs: frozenset[str]) -> set[str]:
        return {test for test in self.items if self.passes(test, bugs)}

    def __call__(self, bugs: frozenset[str], reverse: bool = False) -> list[TestResult]:
        blank = [result_of(item, None) for item in self.items.values()]
        tests = [
            test.model_copy(update={"state": "passed", "points": test.max_points})
            if self.passes(test.id, bugs)
            else test.model_copy(update={"state": "failed"})
            for test in blank
        ]

        def run_again(what: Exchange, wanted: set[str], seconds: float):
            left = frozenset(b for b in bugs if bug_named(b).part not in what.parts)
            return {test for test in wanted if self.passes(test, left)}, 0.0

        tests = tests[::-1] if reverse else tests
        helped = repeated(tests, waiting(tests, self.gradings), run_again, 1.0)
        return settled(tests, self.gradings, helped)


@cache
def variant_of(bugs: frozenset[str]):
    return make_variant(bug_named(name) for name in sorted(bugs))


@pytest.fixture(scope="module")
def graded(bench) -> Graded:
    return Graded(bench)


some_bugs = st.sets(
    st.sampled_from([bug.name for bug in all_bugs() if bug.part <= 6]), min_size=1, max_size=3
)


@given(bugs=some_bugs)
@settings(max_examples=4, deadline=None, database=None, phases=[Phase.generate])
def test_mending_a_bug_never_lowers_the_total(graded, bugs):
    try:
        variant_of(frozenset(bugs))
    except Conflict:
        return
    worst = graded(frozenset(bugs))
    again = graded(frozenset(bugs), reverse=True)[::-1]
    assert [(t.points, t.charge) for t in again] == [(t.points, t.charge) for t in worst]
    check_charges(worst)
    for fewer in map(frozenset, combinations(sorted(bugs), len(bugs) - 1)):
        # Two mistakes can make a test right by luck that fails with one of them.
        if graded.right(frozenset(bugs)) <= graded.right(fewer):
            assert sum_of(graded(fewer)) >= sum_of(worst)


def sum_of(tests: list[TestResult]) -> float:
    return round(sum(test.points for test in tests), 6)


def check_charges(tests: list[TestResult]) -> None:
    for part in {part for test in tests for part in test.trusted_parts}:
        own = [test for test in tests if test.part == part]
        charged = sum(test.charge.points for test in own if test.charge)
        assert charged >= 0.5 or not sum_of(own)
