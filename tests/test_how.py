"""How, not only what: a decode without its cache, copies of K and V, and waste that is only told.

Each case of wrong_how.toml is the solution with a few functions written anew.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest
from public_run import PublicPoints, public_runs, write_package

import reference_model as reference
from assignment.harness import remarks
from assignment.harness.memory import traced
from assignment.harness.points import Grading, Ran, hanging, until_right
from assignment.harness.room import ROOM_MIB
from assignment.harness.student import LocalBackend

ROOT = Path(__file__).parent.parent
CASES = tomllib.loads((Path(__file__).parent / "wrong_how.toml").read_text(encoding="utf-8"))


def files_of(case: dict) -> dict[str, str]:
    """The solution's modules, or none of them, with the functions of a case behind."""
    names = [] if case.get("alone") else sorted((ROOT / "solution").glob("*.py"))
    files = {path.name: path.read_text(encoding="utf-8") for path in names}
    for name, text in case["files"].items():
        files[name] = files.get(name, "") + "\n\n" + text
    return files


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    """Case -> its points in the public tests."""
    folder = tmp_path_factory.mktemp("how")
    with public_runs() as run:
        started = {}
        for name, case in CASES.items():
            package = f"how_{name.replace('-', '_')}"
            write_package(files_of(case), folder / package)
            started[name] = run(folder, package)
        yield lambda name: started[name].result(timeout=600)


@pytest.mark.parametrize("name", CASES)
def test_a_case_loses_what_it_must(public, name):
    points: PublicPoints = public(name)
    case = CASES[name]
    if case.get("alone"):
        assert sum(points.earned.values()) <= case["earns"]
        return
    lost = {part: points.most[part] - points.earned[part] for part in points.losing_parts}
    assert lost == {int(part): n for part, n in case["loses"].items()}
    assert {test.partition("::")[2].partition("[")[0] for test in points.lost} == set(case["told"])
    assert case["message"] in " ".join(points.lost.values())


# --- tests on which others hang ------------------------------------------------------------------


def ran(name, passed, section="4.3", trusted=(), **hangs) -> Ran:
    return Ran(
        f"f.py::{name}[public]", Grading(section, 1, name, **hangs), passed, frozenset(trusted)
    )


def held(*tests: Ran) -> dict[str, str]:
    named = {test.test: test.name for test in tests}
    return {named[test]: needed.name for test, needed in hanging(tests).items()}


def test_a_test_pays_where_all_that_it_needs_is_right():
    decode = ran("decode", True, needs=("used", "read"))
    assert held(ran("used", True), ran("read", True), decode) == {}
    assert held(ran("used", True), ran("read", False), decode) == {"decode": "read"}
    assert held(ran("used", False), ran("read", False), decode)["decode"] == "used"


def test_a_test_pays_beside_one_that_is_right():
    alike = ran("alike", True, beside=("oracle", "another"))
    assert held(ran("oracle", False), ran("another", True), alike) == {}
    assert held(ran("oracle", False), ran("another", False), alike) == {"alike": "oracle"}


def test_what_was_not_run_withholds_nothing():
    assert held(ran("decode", True, needs=("used",), beside=("oracle",))) == {}


def test_a_test_that_failed_is_told_in_its_own_words_unless_others_hang_on_it():
    used = ran("used", False)
    read = ran("read", False, needs=("used",))
    decode = ran("decode", False, needs=("used", "read"))
    assert held(used, read, decode) == {"read": "used"}


def test_two_that_need_each_other_are_told_once():
    used, read = ran("used", False, needs=("read",)), ran("read", False, needs=("used",))
    assert held(used, read) == {"read": "used"}
    assert held(ran("used", True, needs=("read",)), read) == {"used": "read"}


def test_a_trusted_part_stands_in_for_what_is_asked_of_it():
    used = ran("used", False)
    for exchanged, held_by in (({4}, {}), ({1}, {"grouped": "used"})):
        grouped = ran("grouped", True, "5.1", trusted=exchanged, needs=("used",))
        assert held(used, grouped) == held_by


def test_trusted_parts_do_not_stand_in_for_the_own_part():
    decode = ran("decode", True, trusted={3}, needs=("used",))
    assert held(ran("used", False), decode) == {"decode": "used"}


def test_the_grader_withholds_points_and_says_why():
    from assignment.harness.points import grading_of
    from grader.grading.rules import with_needs
    from grader.grading.suite import collect_public
    from grader.results.record import TestResult

    items, _ = collect_public()
    wanted = ("test_decode_reads_the_cache", "test_decode")
    items = [item for item in items if item.originalname in wanted]
    results = [
        TestResult(
            id=f"{item.path.name}::{item.name}",
            part=4,
            section="4.3",
            title="",
            visibility="public",
            points=1.0,
            max_points=1.0,
            state="failed" if "reads" in item.name else "passed",
        )
        for item in items
    ]
    gradings = {r.id: grading_of(i) for r, i in zip(results, items, strict=True)}
    graded = with_needs(results, gradings)
    decode = [test for test in graded if "reads" not in test.id]
    assert len(decode) == 2
    assert {(test.state, test.points) for test in decode} == {("waiting", 0.0)}
    assert {test.message for test in decode} == {
        until_right(next(Ran(r.id, Grading("4.3", 1, title_of(items)), False) for r in results))
    }


def title_of(items: list[pytest.Item]) -> str:
    from assignment.harness.points import grading_of

    return next(grading_of(item).title for item in items if "reads" in item.name)


def test_every_name_that_a_test_hangs_on_is_a_test():
    from assignment.harness.points import grading_of
    from grader.grading.session import GradingSession, run_pytest
    from grader.grading.suite import Suite

    session = GradingSession(Suite(hidden_cases=Path(), real_model=None, hash=""), backend=None)
    run_pytest(session, "--collect-only")
    gradings = {item.originalname: grading_of(item) for item in session.items}
    for grading in gradings.values():
        assert {*grading.needs, *grading.beside} <= gradings.keys()


# --- the reference that takes keys and values ----------------------------------------------------


def test_decode_from_keys_agrees_with_whole_sequences():
    """Given the keys and values of real tokens, it is the decode of those tokens."""
    from assignment.harness.cases import load_cases

    case = load_cases()["decode/gqa"]
    student = LocalBackend("solution")
    config = case.config
    model = student.call("load_model", (config, case.params), {})[0]
    n_tokens = case.prompt.shape[1]
    shape = (config["n_layers"], 2, config["n_kv_heads"], n_tokens, config["head_dim"])
    cache = student.call("KVCache", (*shape, np.dtype(float)), {})[0]
    student.call("prefill", (model, case.prompt, cache), {})
    keys, values = cache._keys, cache._values
    got = reference.decode_from_keys(config, case.params, keys, values, case.continuation)
    np.testing.assert_allclose(got, case.decode_logits[1:], rtol=1e-12, atol=1e-12)


def test_decode_from_latents_agrees_with_whole_sequences():
    from assignment.harness.cases import load_cases

    case = load_cases()["mla/decode_compressed"]
    student = LocalBackend("solution")
    config = case.config
    model = student.call("load_model", (config, case.params), {})[0]
    widths = (config["latent_dim"], config["rope_dim"])
    sizes = (config["n_layers"], 2, case.prompt.shape[1], *widths, np.dtype(float))
    cache = student.call("MLACache", sizes, {})[0]
    student.call("mla_prefill", (model, case.prompt, cache), {})
    held_ = cache._latents, cache._rope_keys
    got = reference.decode_from_latents(config, case.params, *held_, case.continuation)
    np.testing.assert_allclose(got, case.decode_logits[1:], rtol=1e-12, atol=1e-12)


# --- memory and remarks --------------------------------------------------------------------------


def test_memory_is_measured_at_its_peak():
    needed = traced(lambda: np.ones(4 << 17).sum() + np.ones(2 << 17).sum())
    assert 4 <= needed.mib < 4.5
    assert needed.is_known and not needed.at_least


ALLOCATES = """
import numpy as np

def allocate(mib):
    return np.ones(int(mib[0]) << 17)[:1]

def allocate_and_hide(mib):
    try:
        return allocate(mib)
    except MemoryError:
        return allocate(np.array([1]))
"""


@pytest.fixture(scope="module", params=["bubblewrap", "portable", "none"])
def allocating(request, tmp_path_factory):
    sandbox_support = pytest.importorskip("sandbox_support")
    folder = sandbox_support.write_submission(tmp_path_factory.mktemp("sub"), attention=ALLOCATES)
    functions = ("allocate", "allocate_and_hide")
    sandbox = sandbox_support.sandbox_of(request.param)
    with sandbox_support.start(folder, sandbox, functions) as student:
        yield student


@pytest.mark.parametrize("mib", [ROOM_MIB // 2, 2 * ROOM_MIB])
def test_a_worker_gives_a_call_no_more_room_than_it_is_asked_for(allocating, mib):
    from grader.sandbox.remote import OutOfRoom

    room = ROOM_MIB << 20
    allocating.allocate(np.array([1]))
    if mib < ROOM_MIB:
        assert allocating.call_within("allocate", [np.array([mib])], room) == 1
    else:
        with pytest.raises(OutOfRoom):
            allocating.call_within("allocate", [np.array([mib])], room)
        assert allocating.call_within("allocate_and_hide", [np.array([mib])], room) == 1
    assert not allocating.last_call_unlimited
    # The limit is gone with the call.
    assert allocating.allocate(np.array([4 * ROOM_MIB])) == 1


def test_remarks_are_on_one_test():
    remarks.begin()
    remarks.remark("waste")
    remarks.remark("waste")
    assert remarks.said() == "waste"
    remarks.begin()
    assert remarks.said() == ""
