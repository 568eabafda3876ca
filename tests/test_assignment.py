"""The homework itself: solution green, stubs red and short, generated files fresh."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from assignment.harness import draws
from assignment.harness.compare import TOLERANCE, Mismatch
from assignment.harness.parts import GIVEN_FILES, PARTS, STUDENT_MODULES
from assignment.harness.plugin import Oracle
from assignment.harness.points import Grading, grading_of
from assignment.harness.student import LocalBackend, Student
from grader.authoring import golden, skeleton
from grader.diagnosis.lookup import test_name as name_of
from grader.grading.suite import Suite, collect_all

ROOT = Path(__file__).parent.parent


def run_homework(*arguments: str, extra_path: Path | None = None) -> subprocess.CompletedProcess:
    """`pytest assignment/` as a student types it."""
    command = [sys.executable, "-m", "pytest", "assignment/", "-p", "no:cacheprovider", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(extra_path or "")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def part_lines(output: str) -> dict[int, str]:
    return {int(line.split()[1]): line for line in output.splitlines() if line.startswith("Part ")}


@pytest.fixture
def variant(tmp_path: Path):
    """Makes an importable copy of the solution with some text replaced in one file."""

    def make(module: str, *replacements: tuple[str, str], name: str = "variant") -> Path:
        shutil.copytree(ROOT / "solution", tmp_path / name)
        path = tmp_path / name / f"{module}.py"
        source = path.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in source, f"{module}.py no longer contains {old!r}"
            source = source.replace(old, new)
        path.write_text(source, encoding="utf-8")
        return tmp_path

    return make


def test_the_solution_gets_every_point():
    result = run_homework("--impl", "solution")
    assert result.returncode == 0, result.stdout
    assert re.search(r"Total +130 / 130", result.stdout)


def test_the_unfilled_assignment_is_red_and_short():
    result = run_homework()
    lines = result.stdout.splitlines()
    assert result.returncode == 1
    assert len(lines) <= 40
    assert list(part_lines(result.stdout)) == [part.number for part in PARTS]
    assert all(line.endswith("not started") for line in part_lines(result.stdout).values())
    assert re.search(r"Total +0 / 130", result.stdout)
    assert "Next: 1.1 softmax" in result.stdout
    assert "Traceback" not in result.stdout


def test_assignment_is_what_solution_generates():
    assert skeleton.stale_files() == []


def test_a_changed_stub_counts_as_stale(tmp_path, monkeypatch):
    shutil.copytree(skeleton.ASSIGNMENT, tmp_path / "assignment")
    monkeypatch.setattr(skeleton, "ASSIGNMENT", tmp_path / "assignment")
    with (tmp_path / "assignment" / "rope.py").open("a") as stub:
        stub.write("# edited by hand\n")
    assert skeleton.stale_files() == ["rope.py"]


def test_a_generated_file_says_so_here_and_not_to_students():
    line = skeleton.mark("rope.py")
    assert "solution/rope.py" in line
    stub = (skeleton.ASSIGNMENT / "rope.py").read_text(encoding="utf-8")
    assert stub == line + skeleton.generated_files()["rope.py"]
    assert "reference_model/smollm2.py" in skeleton.mark("smollm2.py")


def test_a_generated_file_is_folded_away_in_diffs():
    attributes = (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()
    listed = {line for line in attributes if line.startswith("assignment/") and "*" not in line}
    generated = skeleton.generated_files()
    assert listed == {f"assignment/{name} linguist-generated" for name in generated}


def test_golden_data_is_what_the_reference_computes():
    assert golden.stale_cases() == []


@pytest.mark.slow
def test_a_changed_number_in_the_golden_data_counts_as_stale(tmp_path):
    cases = golden.make_cases(golden.PUBLIC_SEED)
    cases["rope/float64"]["expected"][0, 0, 0, 0] += 1e-6
    path = tmp_path / "cases.safetensors"
    path.write_bytes(golden.to_bytes(cases))
    assert golden.stale_cases(path) == ["rope/float64"]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"part{part.number}")
def test_each_stub_names_part_function_and_section(part):
    stub = (ROOT / "assignment" / f"{part.module}.py").read_text(encoding="utf-8")
    for function in part.functions:
        section = part.section_of(function)
        pattern = rf'"Part {section} {function}[\w.]*: see README.md §{section}"'
        assert re.search(pattern, stub), f"no stub of {function} names section {section}"


def test_the_stubs_hold_no_line_of_the_solution():
    for module in STUDENT_MODULES:
        solution = (ROOT / "solution" / f"{module}.py").read_text(encoding="utf-8")
        stub = (ROOT / "assignment" / f"{module}.py").read_text(encoding="utf-8")
        blocks = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", solution, re.DOTALL)
        lines = {line.strip() for block in blocks for line in block.splitlines()}
        leaked = [line for line in lines if len(line) > 15 and line in stub]
        assert not leaked
        assert "SOLUTION" not in stub


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("def softmax(x):\n    ### BEGIN SOLUTION\n    pass\n", "never closed"),
        ("def softmax(x):\n    pass\n    ### END SOLUTION\n", "without"),
        ("def unknown(x):\n    ### BEGIN SOLUTION\n    ### END SOLUTION\n", "no part"),
    ],
)
def test_broken_markers_are_refused(source, complaint):
    with pytest.raises(skeleton.MarkerError, match=complaint):
        skeleton.make_stub(source, "attention.py")


def test_given_files_are_in_the_assignment():
    assert [name for name in GIVEN_FILES if not (ROOT / "assignment" / name).exists()] == []


def test_a_failure_names_kind_place_and_size_in_few_lines(variant):
    path = variant("kv_cache", ("np.arange(start, start + length)", "np.arange(length)"))
    output = run_homework("--impl", "variant", "-k", "test_decode and mha", extra_path=path).stdout
    block = output.split("✗ 4.3  Every decode step")[1].split("✗")[0]
    assert "shape (6, 2, 39) and dtype float64 are right, values are not" in block
    assert "first wrong at step 1, batch 0, token" in block
    assert re.search(r"largest error \d.* at step \d", block)
    assert "step 0 is right" in block
    assert len(block.strip().splitlines()) <= 15


def test_a_stub_of_another_part_is_waited_for(variant):
    stub = "raise NotImplementedError('Part 3.2 apply_rope')\n    angles ="
    path = variant("rope", ("angles = positions", f"{stub} positions"))
    result = run_homework("--impl", "variant", extra_path=path)
    lines = part_lines(result.stdout)
    assert lines[3].endswith("next: 3.2 apply_rope")
    assert lines[4].endswith("waiting for 3.2 apply_rope")
    assert "✗" not in result.stdout
    assert result.returncode == 1


def test_a_syntax_error_is_told_once_and_other_parts_count(variant):
    path = variant("rope", ("def apply_rope(", "def apply_rope(:"))
    output = run_homework("--impl", "variant", extra_path=path).stdout
    assert output.count("is not valid Python") == 1
    assert "rope.py line" in output
    assert part_lines(output)[1].endswith("done")
    assert "Traceback" not in output


def test_an_exception_is_told_with_the_students_line(variant):
    path = variant("attention", ("return softmax(scores) @ v", "return softmax(scores) @ missing"))
    output = run_homework("--impl", "variant", "-k", "test_attention_plain", extra_path=path).stdout
    assert "NameError: name 'missing' is not defined" in output
    assert re.search(r"attention.py:\d+ in scaled_dot_product_attention: return softmax", output)


def test_a_promoted_dtype_is_explained(variant):
    path = variant("attention", ("math.sqrt(q.shape", "np.sqrt(q.shape"))
    output = run_homework("--impl", "variant", extra_path=path).stdout
    assert "dtype float64, expected float32" in output
    assert "math.sqrt" in output


def test_a_changed_input_is_named(variant):
    path = variant("rope", ("rotated = np.empty_like(x)", "rotated = x"))
    output = run_homework("--impl", "variant", "-k", "test_rope", extra_path=path).stdout
    assert "apply_rope changed its input" in output


def test_recompute_in_place_of_a_cache_is_told(variant):
    remember = (
        "    start, length = cache.length, tokens.shape[1]\n    positions",
        "    seen = getattr(cache, 'seen', tokens[:, :0])[:, : cache.length]\n"
        "    cache.seen = tokens = np.concatenate([seen, tokens], axis=1)\n"
        "    cache.truncate(0)\n"
        "    start, length = cache.length, tokens.shape[1]\n    positions",
    )
    path = variant("kv_cache", remember)
    output = run_homework("--impl", "variant", "-k", "decode and part4", extra_path=path).stdout
    assert "recomputes the prefix in place of using the cache" in output
    assert "Every decode step gives the logits" not in output


@pytest.mark.parametrize("arguments", [("-k", "rope"), ("--impl", "solution", "-v", "-k", "rope")])
def test_a_selection_of_tests_runs_alone(arguments):
    result = run_homework(*arguments)
    if "-v" in arguments:
        assert "test_rope_frequencies" in result.stdout
    else:
        assert list(part_lines(result.stdout)) == [3]


# ---- Code that is right up to some length only loses points, wherever that length lies

WRONG = tomllib.loads((ROOT / "tests" / "wrong.toml").read_text(encoding="utf-8"))
SHORTEST, LONGEST = 32, 250
LAST_PART = 6
_numbers = count()


class Bench:
    """The graded tests of parts 1 to 6, public and hidden, and what a wrong solution loses."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        items, self.case_sets = collect_all(suite)
        # Properties draw small examples: they are no help here, and cost the most.
        self.items = [
            item
            for item in items
            if (of := grading_of(item)) and of.part <= LAST_PART and not is_property(item)
        ]

    def failures(
        self, backend: LocalBackend, part: int | None = None
    ) -> Iterator[tuple[pytest.Item, Grading, Exception]]:
        """The tests that fail, one after another."""
        for item in self.items:
            grading = grading_of(item)
            if part in (None, grading.part) and (error := self._error(item, backend)):
                yield item, grading, error

    def _error(self, item: pytest.Item, backend: LocalBackend) -> Exception | None:
        parameters = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if "oracle" in parameters:
            parameters["oracle"] = Oracle(self.case_sets[parameters["oracle"]])
        try:
            with (
                np.errstate(all="ignore"),
                draws.draws_of(item.obj, self.suite.seed_of(name_of(item))),
            ):
                item.obj(student=Student(backend), **parameters)
        except Exception as error:
            return error
        return None


def is_property(item: pytest.Item) -> bool:
    return hasattr(item.obj, "hypothesis") or "under_any_use" in item.name


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[Bench]:
    suite = Suite.load(b"lengths", False, tmp_path_factory.mktemp("suite"))
    yield Bench(suite)
    suite.close()


@pytest.fixture
def wrong(tmp_path, monkeypatch):
    """Makes a wrong solution of an entry of the TOML file."""

    def make(entry: dict, n: int = 0) -> LocalBackend:
        package = f"wrong_lengths_{next(_numbers)}"
        shutil.copytree(ROOT / "solution", tmp_path / package, ignore=lambda *_: {"__pycache__"})
        path = tmp_path / package / f"{entry['module']}.py"
        text = path.read_text(encoding="utf-8")
        for which in ("", "2"):
            if f"find{which}" in entry:
                find, replace = entry[f"find{which}"], entry[f"replace{which}"]
                assert text.count(find) == 1, f"{find!r} stands {text.count(find)} times"
                text = text.replace(find, replace.replace("{n}", str(n)))
        text += entry.get("append", "").replace("{n}", str(n))
        path.write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return LocalBackend(package)

    yield make
    for name in [name for name in sys.modules if name.startswith("wrong_lengths_")]:
        del sys.modules[name]


def test_the_solution_fails_nothing(bench):
    assert [item.name for item, _, _ in bench.failures(LocalBackend("solution"))] == []


def test_each_place_has_faults_of_several_kinds():
    places = [entry["place"] for entry in WRONG["from"].values()]
    assert all(places.count(place) >= 3 for place in ("mask", "cache", "positions"))


def lengths(name: str) -> list[int]:
    """Both ends, and others that nobody chose."""
    drawn = random.Random(name).sample(range(SHORTEST + 1, LONGEST), 3)
    return [SHORTEST, LONGEST, *drawn]


@pytest.mark.parametrize("name", WRONG["from"])
def test_a_fault_from_a_length_on_loses_points_where_it_is(bench, wrong, name):
    entry = WRONG["from"][name]
    for n in lengths(name):
        lost = {"public": 0.0, "hidden": 0.0}
        clearly = False
        for item, grading, error in bench.failures(wrong(entry, n), entry["loses"]):
            visibility = "hidden" if "[hidden" in item.name else "public"
            lost[visibility] += grading.points
            clearly |= not isinstance(error, Mismatch) or is_clear(error)
        assert sum(lost.values()) >= 0.5, f"from {n} positions on"
        assert lost["public"], f"from {n} positions on nothing is seen at home"
        assert clearly, f"from {n} positions on the error is close to the tolerance"


def is_clear(error: Mismatch) -> bool:
    """A shape or an exact value, or an error that no rounding reaches."""
    return error.max_error is None or error.max_error > 1000 * TOLERANCE["float64"]


@pytest.mark.parametrize("name", WRONG["single"])
def test_a_wrong_solution_loses_points_where_it_is(bench, wrong, name):
    entry = WRONG["single"][name]
    failures = list(bench.failures(wrong(entry)))
    lost = sum(g.points for _, g, _ in failures if g.part == entry["loses"])
    assert lost >= 0.5
    # Parts behind it may need the part; those before it do not.
    assert min(g.part for _, g, _ in failures) == entry["loses"]
    if "only" in entry:
        assert {g.section for _, g, _ in failures} == {entry["only"]}


def test_a_fault_of_the_cache_is_told_with_the_length(bench, wrong):
    entry = WRONG["from"]["cache-trims-its-front"]
    told = {item.obj.__name__: str(error) for item, _, error in bench.failures(wrong(entry, 64), 4)}
    assert "keys from append, in layer 0 after " in told["test_cache_of_many_positions"]


@pytest.mark.parametrize("secret", [b"one", b"two", b"three"])
def test_angles_in_float32_are_far_from_the_tolerance(wrong, tmp_path, secret):
    """The error grows with the position: it must not hang on what is drawn."""
    from grader.authoring.cases import BUILDERS
    from grader.authoring.cases.draw import Draw

    case = BUILDERS["rope/far_float32"](Draw(int.from_bytes(secret, "big"), "rope/far_float32"))
    entry = WRONG["single"]["rope-angles-in-float32"]
    got, _ = wrong(entry).call("apply_rope", (case["x"], case["positions"], case["theta"]), {})
    scale = max(1, np.abs(case["expected"]).max())
    assert np.abs(got - case["expected"]).max() / scale > 8 * TOLERANCE["float32"]
