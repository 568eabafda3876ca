"""How, not only what: a decode without its cache, copies of K and V, and waste that is only told.

Each case of `how` in wrong.toml is the solution with a few functions written anew."""

from __future__ import annotations

import ast
import contextlib
import copy
import hashlib
import importlib
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis.internal.conjecture import providers
from public_run import PublicPoints, public_runs, write_package

import reference_model as reference
from assignment.harness import draws, remarks
from assignment.harness.compare import Mismatch
from assignment.harness.memory import Needed, traced
from assignment.harness.points import Grading, Ran, grading_of, hanging, until_right
from assignment.harness.room import ROOM_MIB
from assignment.harness.student import LocalBackend, Student
from grader.authoring import golden
from grader.authoring.cases import make_cases
from grader.authoring.golden import PUBLIC_SEED
from grader.diagnosis import lookup
from grader.grading.confirm import REFERENCE, require_reference
from grader.grading.suite import Suite, collect_public

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
WRONG_AND_TWINS = tomllib.loads((HERE / "wrong.toml").read_text(encoding="utf-8"))
CASES = WRONG_AND_TWINS["how"]


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


# --- what a cache refuses ------------------------------------------------------------------------

# One position more than max_len is taken, or a truncation to less than nothing makes it grow.
REFUSALS = {
    "one_too_many": ("if end > max_len:", "if end > max_len + 1:"),
    "negative": ("if not 0 <= length <= self.length:", "if length > self.length:"),
    "beyond": ("if not 0 <= length <= self.length:", "if length < 0:"),
}


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("fault", REFUSALS)
def test_a_cache_that_takes_too_much_is_told_at_home_and_in_grading(
    fault, seed, tmp_path, monkeypatch
):
    """The sizes are drawn: at home always the same, in grading by the secret."""
    from grader.grading.suite import collect_public

    wanted = (
        "test_cache_refuses_what_it_cannot_hold",
        "test_latent_cache_refuses_what_it_cannot_hold",
    )
    tests = [item.obj for item in collect_public()[0] if item.originalname in wanted]
    old, new = REFUSALS[fault]
    package = f"refuses_{fault}_{seed}"
    sources = {
        path.name: path.read_text(encoding="utf-8")
        for path in (ROOT / "solution").glob("*")
        if path.suffix == ".py"
    }
    assert all(old in sources[name] for name in ("kv_cache.py", "mla.py"))
    write_package({n: text.replace(old, new) for n, text in sources.items()}, tmp_path / package)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(draws, "_seed", seed)
    for right, student in ((True, LocalBackend("solution")), (False, LocalBackend(package))):
        for test in tests:
            with contextlib.nullcontext() if right else pytest.raises((Mismatch, ValueError)):
                test(Student(student))


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


def test_what_was_never_begun_is_no_proof_in_grading():
    """A submission can raise a stub's own words wherever a test would compare it."""
    from grader.grading.rules import with_needs
    from grader.grading.suite import collect_public

    items, _ = collect_public()
    wanted = ("test_rope_keeps_lengths", "test_rope")
    items = [item for item in items if item.originalname in wanted]
    results = [
        a_result(item, "passed" if "lengths" in item.name else "not_started") for item in items
    ]
    states = {
        test.id: (test.state, test.points)
        for test in with_needs(results, gradings_of(results, items))
    }
    assert set(states.values()) == {("waiting", 0.0), ("not_started", 1.0)}


class Confirmed:
    """A package in this process, whose answers are compared as grading compares them."""

    def __init__(self, package: str) -> None:
        self._backend = LocalBackend(package)
        self.n_compared = 0

    def call(self, name: str, args: tuple, kwargs: dict):
        result, changed = self._backend.call(name, args, kwargs)
        require_reference(name, args, kwargs, result)
        self.n_compared += name in REFERENCE
        return result, changed

    def measured(self, *arguments):
        return self._backend.measured(*arguments)


def test_right_answers_to_drawn_examples_are_the_reference_s():
    """In every test that has no oracle: the solution passes as it does without the comparison."""
    from grader.grading.suite import collect_public

    backend = Confirmed("solution")
    items, _ = collect_public()
    for item in items:
        graded = grading_of(item)
        if graded.part in (1, 2, 3, 5, 6) and "oracle" not in item.fixturenames:
            with draws.draws_of(item.obj, seed=12):
                item.obj(student=Student(backend))
    assert backend.n_compared > 200


def test_a_wrong_answer_that_agrees_with_itself_is_no_answer():
    x = np.ones((1, 4, 6))
    with pytest.raises(Mismatch, match="wrong on an example of this test that grading drew"):
        require_reference("split_heads", (x, 2), {}, np.zeros((1, 2, 4, 3)))
    require_reference("split_heads", (x, 4), {}, x)  # refused by the reference too: asked elsewhere
    require_reference("decode_step", (x,), {}, x)


# --- what kind of evidence a test is -------------------------------------------------------------


def evidence() -> dict[str, list[tuple[bool, Grading]]]:
    """Test -> whether it compares with an oracle or values of its own, and its marks."""
    from grader.grading.session import GradingSession, run_pytest
    from grader.grading.suite import Suite

    session = GradingSession(Suite(Path(), real_model=None, hash=""), backend=None)
    run_pytest(session, "--collect-only")
    marked: dict[str, list[tuple[bool, Grading]]] = {}
    for item in session.items:
        grading = grading_of(item)
        is_proof = "oracle" in item.fixturenames and not grading.beside
        if grading.part != 11:  # of which numbers are compared with digests
            several = marked.setdefault(item.originalname, [])
            several.append((is_proof or grading.own_values, grading))
    return marked


def test_a_property_pays_only_beside_a_proof():
    """Every test that compares with nothing names one of its part that does."""
    marked = evidence()
    for name, several in marked.items():
        for is_proof, grading in several:
            assert not (grading.own_values and grading.beside), name
            needed = [marked[one][0] for one in grading.needs]
            beside = [marked[one][0] for one in grading.beside]
            assert all(proof and of.part == grading.part for proof, of in beside), name
            assert is_proof or beside or any(proof for proof, _ in needed), (
                f"{name} compares with no oracle: mark it beside=... or own_values=True"
            )


def test_a_test_that_asks_for_no_oracle_has_a_twin_or_a_reason():
    """`without_twin` in wrong.toml says what keeps a table of answers from passing."""
    reasons = WRONG_AND_TWINS["without_twin"]
    from grader.grading.suite import collect_public

    items, _ = collect_public()
    alone = {
        item.originalname
        for item in items
        if "oracle" not in item.fixturenames and grading_of(item).part != 11
    }
    stated = [name for names in reasons["tests"].values() for name in names]
    assert sorted(stated) == sorted(alone)
    assert reasons["tests"].keys() == reasons["reasons"].keys()


def test_no_hidden_case_is_its_public_twin():
    """Where they have the same inputs, an answer learned at home is an answer in grading."""
    public, hidden = (make_cases(seed, with_hidden=True) for seed in (PUBLIC_SEED, 7))
    same = [
        name
        for name, fields in public.items()
        if golden.to_bytes({name: fields}) == golden.to_bytes({name: hidden[name]})
    ]
    assert same == []


def gradings_of(results, items) -> dict[str, Grading]:
    return {result.id: grading_of(item) for result, item in zip(results, items, strict=True)}


def a_result(item, state: str):
    from grader.results.record import TestResult

    return TestResult(
        id=f"{item.path.name}::{item.name}",
        part=grading_of(item).part,
        section=grading_of(item).section,
        title="",
        visibility="public",
        points=1.0,
        max_points=1.0,
        state=state,
    )


def test_the_grader_withholds_points_and_says_why():
    from grader.grading.rules import with_needs
    from grader.grading.suite import collect_public

    items, _ = collect_public()
    wanted = ("test_decode_reads_the_cache", "test_decode")
    items = [item for item in items if item.originalname in wanted]
    results = [a_result(item, "failed" if "reads" in item.name else "passed") for item in items]
    graded = with_needs(results, gradings_of(results, items))
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
    from grader.sandbox.problems import OutOfRoom

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


# ---- Tests that draw their own examples: anew for each course, and right code passes them all

# No seed stands in both: what is drawn by it differs in all tests.
SECRETS = (b"one", b"another")
# The numbers that the exercises ask for are the homework, and the same for everybody.
EXERCISES = 11


def seed_of(item: pytest.Item, secret: bytes) -> int:
    return Suite(None, None, "", draws=secret).seed_of(lookup.test_name(item))


@pytest.fixture(scope="module")
def own_draws() -> list[pytest.Item]:
    """The public tests that bring their examples themselves."""
    items, _ = collect_public()
    found = [item for item in items if grading_of(item) and "oracle" not in item.fixturenames]
    return [item for item in found if grading_of(item).part != EXERCISES]


def run(item: pytest.Item, backend: Any) -> None:
    callspec = getattr(item, "callspec", None)
    item.obj(student=Student(backend), **(callspec.params if callspec else {}))


# --- a submission that is a table --------------------------------------------------------------


def key(*values: Any) -> str:
    """A digest of arguments; an object counts as what was done with it."""
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, Handle):
            digest.update(value.history.encode())
        elif isinstance(value, dict):
            digest.update(key(*value.keys(), *value.values()).encode())
        elif isinstance(value, list | tuple):
            digest.update(key(len(value), *value).encode())
        elif isinstance(value, np.ndarray):
            digest.update(repr((value.shape, value.dtype.str)).encode() + value.tobytes())
        else:
            digest.update(repr(value).encode() + b"\0")
    return digest.hexdigest()


class Unknown(Exception):
    """A question that is not in the table."""


class Table:
    """Answers by question. With a `source` it learns; without, it only looks up."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.source: LocalBackend | None = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        """As a backend of the harness."""
        return self.ask(lambda *a, **k: self.source.call(name, a, k)[0], name, *args, **kwargs), []

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        return Needed(self.call(name, tuple(args), {})[0], mib=0.0)

    def ask(self, function: Callable, *question: Any, **more: Any) -> Any:
        name, *args = question
        asked = key(name, *args, more)
        if self.source is not None:
            inner = [a.inner if isinstance(a, Handle) else a for a in args]
            try:
                answer = function(*inner, **more)
                # A cache hands out views of rows that it will write again.
                self.answers[asked] = copy.deepcopy(answer) if _is_plain(answer) else answer
            except (ValueError, TypeError) as error:
                self.answers[asked] = error
        for handle in (a for a in args if isinstance(a, Handle)):
            handle.history = key(handle.history, asked)
        if asked not in self.answers:
            raise Unknown(name)
        answer = self.answers[asked]
        if isinstance(answer, Exception):
            raise answer
        return answer if _is_plain(answer) else Handle(self, answer, asked)


def _is_plain(answer: Any) -> bool:
    return isinstance(answer, np.ndarray | np.generic | tuple | list | dict | int | float | None)


class Handle:
    """An object of the submission, known by what was done with it so far."""

    def __init__(self, table: Table, inner: Any, history: str) -> None:
        self.table, self.inner, self.history = table, inner, history

    def __getattr__(self, name: str) -> Any:
        if not callable(getattr(self.inner, name)):
            return self.table.ask(lambda inner: getattr(inner, name), name, self)
        return lambda *args, **more: self.table.ask(
            lambda inner, *rest: getattr(inner, name)(*rest, **more), name, self, *args, **more
        )


def points_of(items: list[pytest.Item], table: Table) -> dict[str, float]:
    """What a table earns, by test."""
    earned = {}
    for item in items:
        try:
            run(item, table)
        except Exception:
            continue
        earned[lookup.test_name(item)] = grading_of(item).points
    return earned


@pytest.mark.slow
def test_a_table_of_what_is_asked_at_home_earns_nothing_in_grading(own_draws):
    table = Table()
    at_home = points_of(own_draws, table)
    assert len(at_home) == len(own_draws), "the solution fails its own tests"
    table.source = None
    assert points_of(own_draws, table) == at_home, "the table is incomplete"
    graded = {}
    for item in own_draws:
        with graded_with(item, SECRETS[0]):
            graded |= points_of([item], table)
    assert graded == {}


# --- what is red at home ---------------------------------------------------------------------


@contextlib.contextmanager
def graded_with(item: pytest.Item, secret: bytes) -> Iterator[None]:
    """A public test as the grader runs it."""
    test = item.obj
    item.obj = draws.at_home_and_drawn(test, seed_of(item, secret))
    yield
    item.obj = test


class RotatesFromATable:
    """The solution, whose angles come from a table: later positions are clipped."""

    def __init__(self) -> None:
        self.solution = LocalBackend("solution")

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        if name == "apply_rope":
            args = (args[0], np.minimum(args[1], 4095), *args[2:])
        return self.solution.call(name, args, kwargs)


@pytest.mark.parametrize("secret", [*SECRETS, b"a third"])
def test_what_is_red_at_home_is_red_in_grading(own_draws, secret):
    """Whatever is drawn there besides; and the failure is told as it is at home."""
    item = next(i for i in own_draws if "depends_on_differences" in i.name)
    with pytest.raises(AssertionError) as at_home:
        run(item, RotatesFromATable())
    with graded_with(item, secret), pytest.raises(AssertionError) as graded:
        run(item, RotatesFromATable())
    assert str(graded.value) == str(at_home.value)
    assert draws.remark() == ""


class WrongAtHome(Exception):
    """A question that the tests ask at home."""


def test_what_is_wrong_in_one_example_at_home_is_red_in_grading(own_draws):
    for item in own_draws[::3]:
        at_home = Questions()
        run(item, at_home)
        asked = set(at_home.asked)

        class Wrong(Questions):
            def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
                answer = super().call(name, args, kwargs)
                if self.asked[-1] in asked:  # noqa: B023
                    raise WrongAtHome
                return answer

        with graded_with(item, SECRETS[0]), pytest.raises((WrongAtHome, ExceptionGroup)):
            run(item, Wrong())


def test_other_modules_around_the_homework_change_no_example(tmp_path, monkeypatch):
    """hypothesis would mix their constants in."""
    (tmp_path / "some_project.py").write_text("ANSWER = 4242424242\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("some_project")
    monkeypatch.setattr(providers, "_get_local_constants", providers._get_local_constants)
    draws.draw_the_same_everywhere()
    assert 4242424242 not in providers.HypothesisProvider(None)._local_constants.integers


# --- right code --------------------------------------------------------------------------------


class Questions:
    """The solution, and every question it was asked."""

    def __init__(self) -> None:
        self.solution = LocalBackend("solution")
        self.asked: list[str] = []
        self.shapes: list[tuple[int, ...]] = []

    def call(self, name: str, args: tuple, kwargs: dict) -> tuple[Any, list[str]]:
        arrays = [a for a in args if isinstance(a, np.ndarray | int | float | tuple)]
        self.asked.append(key(name, *arrays, kwargs))
        self.shapes += [a.shape for a in arrays if isinstance(a, np.ndarray)]
        return self.solution.call(name, args, kwargs)

    def measured(self, name: str, args: list[np.ndarray], room_mib: int) -> Needed:
        return Needed(self.call(name, tuple(args), {})[0], mib=0.0)


@pytest.mark.parametrize("secret", SECRETS)
def test_right_code_passes_whatever_is_drawn(own_draws, secret):
    for item in own_draws:
        with draws.draws_of(item.obj, seed_of(item, secret)):
            run(item, LocalBackend("solution"))


def test_the_same_secret_draws_the_same(own_draws):
    def questions(secret: bytes) -> dict[str, list[str]]:
        found = {}
        for item in own_draws[::3]:
            backend = Questions()
            with draws.draws_of(item.obj, seed_of(item, secret)):
                run(item, backend)
            found[lookup.test_name(item)] = backend.asked
        return found

    one, again, other = map(questions, (SECRETS[0], SECRETS[0], SECRETS[1]))
    assert one == again
    assert one != other


def test_hypothesis_draws_anew_too(own_draws):
    """Sizes and settings, not only the numbers in arrays."""
    item = next(item for item in own_draws if "merge_undoes_split" in item.name)
    shapes = []
    for secret in SECRETS:
        backend = Questions()
        with draws.draws_of(item.obj, seed_of(item, secret)):
            run(item, backend)
        shapes.append(backend.shapes)
    assert shapes[0] != shapes[1]


def test_after_grading_a_run_at_home_draws_as_before(own_draws):
    item = next(item for item in own_draws if "ignores_a_common_shift" in item.name)
    asked = []
    for secret in (None, b"one", None):
        backend = Questions()
        if secret is None:
            run(item, backend)
        else:
            with draws.draws_of(item.obj, seed_of(item, secret)):
                run(item, backend)
        asked.append(backend.asked)
    assert asked[0] == asked[2] != asked[1]


# --- the tests of the homework -----------------------------------------------------------------

GRADED = [
    path
    for path in sorted((ROOT / "assignment").glob("test_part*.py"))
    if "part10" not in path.name  # its torch runs at home only
]


@pytest.mark.parametrize("path", GRADED, ids=lambda path: path.stem)
def test_every_draw_of_a_test_can_be_drawn_anew(path):
    """numpy's generators through draws.rng, properties inside a test by draws.drawn."""
    source = path.read_text(encoding="utf-8")
    assert "np.random" not in source, "take draws.rng(seed)"
    tests = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    inner = [f for test in tests for f in ast.walk(test) if isinstance(f, ast.FunctionDef)]
    for function in (f for f in inner if f not in tests):
        marks = [ast.unparse(mark).partition("(")[0] for mark in function.decorator_list]
        assert "given" not in marks or marks[0] == "draws.drawn", f"{function.name}: not drawn"
