"""Errors are not carried forward: trusted parts in place of the student's, and what may be told."""

import io
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sandbox_support import SLOT

from assignment.harness.models import random_model
from assignment.harness.parts import PART_BY_NUMBER, STUDENT_MODULES
from grader.authoring.sample_class import KEPT
from grader.grade_class import grade_class
from grader.grading.charges import RIGHT, WRONG
from grader.grading.exchange import PART_OF, Exchange, trusted_parts
from grader.reports.class_table import print_result
from grader.results.record import read_record
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


def result_of(results: Path, name: str):
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
    result = result_of(results, name)
    assert lost_parts(result) == {1}
    trusted = [test for test in result.tests if test.with_trusted_parts]
    assert {test.part for test in trusted} >= {2, 4, 5}
    assert all(test.message == RIGHT and test.own_message for test in trusted)


def test_a_module_that_cannot_be_imported_costs_its_own_part_only(results):
    result = result_of(results, "syntax-error")
    assert lost_parts(result) == {5}
    assert not any(test.with_trusted_parts for test in result.tests if test.part != 4)


def test_a_recompute_is_told_once_and_gets_no_decodes(results):
    result = result_of(results, "bug-recompute")
    held = {test.held_by.partition("[")[0] for test in result.tests if test.state == "waiting"}
    assert {name.rpartition("::")[2] for name in held} == {"test_decode_uses_the_cache"}
    assert lost_parts(result) == {4, 5}  # part 5 passes, and its decodes hang on part 4's cache
    assert not any(test.with_trusted_parts for test in result.tests)
    decodes = [t for t in result.tests if t.function == "test_decode_of_a_grouped_model"]
    assert {(test.state, test.points) for test in decodes} == {("waiting", 0)}


def test_a_wrong_decode_gets_no_more_than_a_recompute(results):
    """It keeps part 5, and part 4 pays for what hangs on a cache that is used."""
    wrong, recompute = (result_of(results, n) for n in ("bug-position-zero", "bug-recompute"))
    assert lost_parts(wrong) == {4}
    assert wrong.total <= recompute.total


@pytest.mark.parametrize("name", CASES)
def test_a_bug_costs_where_it_is_and_only_there(results, name):
    result = result_of(results, name)
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
    assert result_of(results, both).total == result_of(results, one).total - 0.25


def test_a_point_by_trust_has_a_charge_and_the_report_says_for_what(results):
    for name in CASES:
        result = result_of(results, name)
        tests = {test.id: test for test in result.tests}
        charges = [test for test in result.tests if test.charge]
        for part in {part for test in result.tests for part in test.trusted_parts}:
            of_part = [test.charge for test in charges if test.part == part]
            left = sum(test.points for test in result.tests if test.part == part)
            assert sum(charge.points for charge in of_part) >= 0.5 or left == 0
            assert all(part in tests[charge.test].trusted_parts for charge in of_part)
    result = result_of(results, "rope-wrong-for-one-position")
    (charge,) = (test.charge for test in result.tests if test.charge)
    console = Console(width=200, record=True, file=io.StringIO())
    print_result(result, console)
    assert charge.in_words() in console.export_text()
    assert charge.title in charge.in_words()


def test_show_marks_points_earned_with_trusted_parts(results):
    console = Console(width=120, record=True, file=io.StringIO())
    print_result(result_of(results, "bug-scale-missing"), console)
    text = console.export_text()
    assert text.count(RIGHT) == text.count("with the student's own: ") > 10


@pytest.mark.parametrize("name", ["by-array", "by-exception"])
def test_a_trusted_run_tells_nothing_in_the_submissions_words(results, name):
    result = result_of(results, name)
    text = result.model_dump_json()
    source = text_of("attention")
    assert "LEAKED" not in text
    assert ":77" not in text
    assert not [line for line in source.splitlines() if line.strip() in text and len(line) > 30]
    assert source.encode().hex()[:40] not in text


def test_numbers_of_a_trusted_run_are_not_told(results):
    """Arrays that encode a text give the same record as arrays that do not."""
    silent, loud = (result_of(results, name).tests for name in ("silent", "by-array"))
    assert any(WRONG in test.message for test in loud)
    for one, other in zip(silent, loud, strict=True):
        assert one.model_copy(update={"seconds": 0}) == other.model_copy(update={"seconds": 0})


def test_an_exception_of_a_trusted_run_is_not_told(results):
    """They are the submission's choice: some bits a test, and the source in thirty runs."""
    silent, loud = (result_of(results, name).tests for name in ("silent", "by-exception"))
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
