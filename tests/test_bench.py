"""The timing test: what it refuses and lets pass, and what it makes of times (by a fake clock).

No test here looks at how long something took, but for the one whose steps sleep.
"""

import contextlib
import io
import json
import tempfile
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from assignment.harness.growth import Growth, growth_of, measure_growth
from grader.base.errors import GraderError
from grader.bench.adapter import perturbed
from grader.bench.analysis import analyse, bytes_of_step, fit_growth
from grader.bench.experiment import BrokenReference, Measured, run_experiment
from grader.bench.loop import Loop
from grader.bench.measure import time_generation, time_steps
from grader.bench.oracle import expected_logits
from grader.bench.prepare import SOLUTION, lay_out_solution, write_weights
from grader.bench.report import print_analysis
from grader.bench.run import equipped_sandbox
from grader.bench.setting import TINY, Setting
from grader.bench.standstill import (
    _children,
    _children_by_search,
    cpu_ticks,
    is_stopped,
    processes_of,
)
from grader.bench.verify import Refused, Tolerance, check_steps, check_tokens
from grader.cli.main import app
from grader.grades.policy_file import Bench, Policy
from grader.running.slots import hold_slot
from grader.sandbox import SandboxUnavailable, choose_sandbox
from reference_model import ModelConfig, init_llama

HOSTILE = Path(__file__).parent / "bench_hostile"
# Loops that try to look fast, and honest ones that look odd: what each does, what it must get.
LOOPS = {
    loop["name"]: loop
    for file in sorted(HOSTILE.glob("*.toml"))
    for loop in tomllib.loads(file.read_text(encoding="utf-8"))["loop"]
}
NUMPY_LOOPS = [name for name in LOOPS if not name.startswith("torch_")]
CONFIG = ModelConfig("for tests", 2, 48, 4, 2, 12, 56, 101)
SETTING = Setting("numpy", "cpu", "float32", CONFIG, (8, 21), 4, 6, 5, repetitions=2)


# ----------------------------------------------------------------------- in the sandbox, verdicts


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Runs submissions one after the other against one worker of the solution."""
    try:
        sandbox, packages, setting = equipped_sandbox("auto", SETTING)
    except (SandboxUnavailable, GraderError) as problem:
        pytest.skip(f"no sandbox here: {str(problem).splitlines()[0]}")
    folder = tmp_path_factory.mktemp("bench")
    with contextlib.ExitStack() as held:
        slots = [held.enter_context(hold_slot(number)) for number in range(2)]
        weights = folder / "weights.safetensors"
        base = write_weights(CONFIG, weights)

        def loop(name: str, where: Path, slot: int) -> Loop:
            seconds = 2.0 if name == "endless_step" else 60.0
            return Loop(name, sandbox, where, packages, weights, setting, slots[slot], seconds)

        ours = loop("solution", lay_out_solution(folder / "solution", "numpy"), 1)
        held.callback(ours.close)
        yield Arena(folder, setting, base, ours, lambda name, where: loop(name, where, 0))


class Arena:
    """See the fixture."""

    def __init__(self, folder, setting, base, ours, new_loop):
        self.folder, self.setting, self.base = folder, setting, base
        self.ours, self._new_loop = ours, new_loop

    @contextlib.contextmanager
    def submission(self, name: str):
        where = lay_out(Path(tempfile.mkdtemp(dir=self.folder)) / name, name)
        loop = self._new_loop(name, where)
        try:
            yield loop
        finally:
            loop.close()

    def run(self, name: str) -> tuple[Measured, str]:
        with self.submission(name) as loop:
            # Twice where it matters whether anything comes again.
            setting = replace(self.setting, repetitions=2 if name.startswith("memo") else 1)
            measured = run_experiment(setting, self.base, loop, self.ours)
            return measured, loop.printed()


def lay_out(folder: Path, name: str, part: str = "kv_cache") -> Path:
    """The solution with one module in another's place."""
    package = lay_out_solution(folder, "torch" if name.startswith("torch_") else "numpy")
    package = package / "assignment"
    (package / "honest.py").write_bytes((package / f"{part}.py").read_bytes())
    (package / f"{part}.py").write_text(LOOPS[name]["code"])
    return folder


def check_verdict(name: str, measured: Measured) -> None:
    if "refused" in LOOPS[name]:
        assert LOOPS[name]["refused"] in measured.refused
        assert not measured.submission.steps, "refused, and yet it has times"
        return
    assert measured.refused == ""
    for times in (measured.submission, measured.ours):
        n_times = 2 if "memo" in name or name.startswith("torch") else 1
        assert {c: len(t) for c, t in times.steps.items()} == {8: n_times, 21: n_times}
        assert len(times.generation) == n_times
        assert min(times.generation + times.steps[8] + times.prefill[21]) > 0


@pytest.mark.parametrize("name", NUMPY_LOOPS)
def test_a_loop_gets_the_verdict_in_its_file(bench, name):
    measured, printed = bench.run(name)
    check_verdict(name, measured)
    if name in ("memo_by_value", "memo_by_weights"):
        assert "known" not in printed, "an input came twice"
    if name == "patched_clocks":
        # Whatever the clocks in its process say, a step that sleeps 10 ms takes them.
        assert min(measured.submission.steps[8]) >= 0.01


def test_a_loop_stands_still_while_it_is_not_its_turn(bench):
    with bench.submission("busy_thread") as loop:
        bench.ours.setup()
        loop.setup()  # from here on its thread burns
        with bench.ours.turn([loop]):
            processes = processes_of(loop.pid)
            assert len(processes) >= 1 and all(is_stopped(p) for p in processes)
            before = cpu_ticks(loop.pid)
            time.sleep(0.1)
            assert cpu_ticks(loop.pid) == before
            assert not is_stopped(bench.ours.pid)
        assert is_stopped(bench.ours.pid)
        assert set(_children_by_search(loop.pid)) == set(_children(loop.pid))
        with loop.turn([bench.ours]):
            assert not is_stopped(processes_of(loop.pid)[-1])


def test_who_goes_first_alternates_by_context_and_by_repetition(bench, monkeypatch):
    began, begin = [], Loop.begin
    monkeypatch.setattr(Loop, "begin", lambda self, *a: began.append(self.name) or begin(self, *a))
    with bench.submission("reused_buffer") as loop:
        run_experiment(replace(bench.setting, repetitions=2), bench.base, loop, bench.ours)
    pairs = [set(began[i : i + 2]) for i in range(0, len(began), 2)]
    assert pairs == [{"solution", "reused_buffer"}] * 6
    firsts = began[::2]
    first, second = firsts[1:3], firsts[4:]  # behind each repetition's warm-up
    assert first[0] != first[1] and second == first[::-1]


def test_our_own_failure_is_not_the_submissions(bench):
    with bench.submission("not_a_number") as broken, pytest.raises(BrokenReference, match="NaN"):
        run_experiment(bench.setting, bench.base, bench.ours, broken)


@pytest.mark.slow
def test_the_command_writes_what_it_prints(tmp_path):
    if not _has_sandbox():
        pytest.skip("no sandbox here")
    out = tmp_path / "bench.json"
    command = ["bench", str(SOLUTION), "--quick", "--repetitions", "1", "--threads", "1"]
    done = CliRunner().invoke(app, [*command, "--out", str(out)])
    assert done.exit_code == 0, done.output
    content = json.loads(out.read_text())
    assert content["verified"] and content["analysis"]["points"] is None
    assert [row["context"] for row in content["analysis"]["rows"]] == [32, 128]
    assert set(content["seconds"]["submission"]["step"]) == {"32", "128"}
    for words in ("Growth: from context 32 to 128", "No points: ", "Generation of 12 tokens"):
        assert words in done.output
    assert "Points: " not in done.output


def _has_sandbox() -> bool:
    try:
        return choose_sandbox("auto").kind not in ("podman", "docker")
    except SandboxUnavailable:
        return False


def test_two_submissions_at_once_are_refused(tmp_path):
    for name in ("ada", "grace"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "attention.py").write_text("")
    done = CliRunner().invoke(app, ["bench", str(tmp_path), "--quick"])
    assert done.exit_code == 2
    assert "holds 2 submissions (ada, grace" in done.output


def test_numpy_on_a_gpu_is_refused():
    done = CliRunner().invoke(app, ["bench", str(SOLUTION), "--device", "cuda"])
    assert done.exit_code == 2 and "--impl torch" in done.output


# -------------------------------------------------------------------------- windows, a fake clock


class Scripted:
    """A loop and a clock: every call takes the seconds it is said to, `idle` passes between."""

    def __init__(self, seconds: dict[str, list[float]], per_read: float = 0.0):
        self._seconds = {name: list(values) for name, values in seconds.items()}
        self.now, self._per_read, self.seen = 0.0, per_read, []

    def clock(self) -> float:
        self.now += self._per_read
        return self.now

    def begin(self, batch, max_len):
        self.now += 1000.0  # outside every window

    def _spend(self, name: str):
        self.now += self._seconds[name].pop(0)

    def prefill(self, tokens):
        self._spend("prefill")
        return "prefill"

    def step(self, token):
        self.seen.append(token.tolist())
        self._spend("step")
        return "step"

    def generate(self, prompt, n):
        self._spend("generate")
        return "tokens"


def test_windows_of_steps_meet_and_leave_out_the_first():
    loop = Scripted({"prefill": [8.0], "step": [5.0, 1.0, 2.0, 3.0]})
    tokens = np.arange(4)[None]
    steps = time_steps(loop, np.zeros((1, 3), int), tokens, loop.clock)
    assert (steps.prefill, steps.first, steps.per_step) == (8.0, 5.0, 2.0)
    assert steps.outputs == ["prefill", *["step"] * 4]
    assert loop.seen == [[0], [1], [2], [3]]


def test_no_time_passes_between_two_windows():
    """Each reading ends one window and begins the next: what a thread does between is counted."""
    loop = Scripted({"prefill": [1.0], "step": [1.0] * 4}, per_read=0.5)
    began = 1000.5
    steps = time_steps(loop, np.zeros((1, 3), int), np.zeros((1, 4), int), loop.clock)
    assert steps.prefill + steps.first + 3 * steps.per_step == loop.now - began


def test_a_generation_includes_its_prefill():
    loop = Scripted({"generate": [7.0]})
    assert time_generation(loop, np.zeros((1, 3), int), 5, loop.clock).seconds == 7.0


# ------------------------------------------------------------------------------------ from times


def measured_with(step: dict[int, float], ours: float = 1.0, generation: float = 10.0) -> Measured:
    found = Measured()
    for context in (8, 21):
        found.submission.steps[context] = [step[context] * factor for factor in (1, 1.1, 50)]
        found.submission.prefill[context] = [1.0] * 3
        # A machine that becomes slower for both changes no ratio.
        found.ours.steps[context] = [ours * factor for factor in (1, 1.1, 50)]
        found.ours.prefill[context] = [float(context**2)] * 3
        found.bound[context] = [0.5, 0.5, 0.5]
    found.submission.generation, found.ours.generation = [generation] * 3, [10.0] * 3
    return found


def test_ratios_are_of_what_was_measured_together():
    analysis = analyse(measured_with({8: 1.5, 21: 1.5}), SETTING, Bench())
    assert [row.to_ours for row in analysis.rows] == pytest.approx([1.5, 1.5])
    assert analysis.rows[0].to_bound == pytest.approx(1.5 * 1.1 / 0.5)
    assert analysis.rows[1].to_naive == pytest.approx(1.5 * 1.1 / 441)
    assert analysis.rows[0].step_spread == pytest.approx((1.5, 75))
    assert analysis.points == 8.0


def test_the_worse_of_the_two_measures_counts():
    slow_generation = measured_with({8: 1.0, 21: 1.0}, generation=35.0)
    assert analyse(slow_generation, SETTING, Bench()).points == 5.0
    fast_generation = measured_with({8: 3.0, 21: 3.0}, generation=1.0)
    assert analyse(fast_generation, SETTING, Bench()).ratio == pytest.approx(3.0)


def test_a_tiny_model_gives_no_points_but_says_how_a_step_grows():
    tiny = replace(SETTING, config=TINY)
    for growing in ({8: 1.0, 21: 1.0}, {8: 0.08, 21: 0.6}):
        analysis = analyse(measured_with(growing), tiny, Bench())
        assert analysis.points is None
        console = Console(file=io.StringIO())
        print_analysis(console, analysis, tiny, Bench())
        said = " ".join(console.file.getvalue().split())
        assert ("the cache is not used." in said) == (growing[8] < 1)
        assert "Growth: from context 8 to 21" in said and "No points: " in said
        assert "Points: " not in said


def test_a_recompute_gets_no_points_however_fast():
    analysis = analyse(measured_with({8: 0.08, 21: 0.6}), SETTING, Bench())
    assert analysis.growth.recomputes and analysis.ratio < 1.01 and analysis.points == 0


def test_the_line_and_the_slope_are_found_again():
    contexts = [64, 256, 1024]
    fit = fit_growth(contexts, [3e-3 + 2e-6 * c for c in contexts])
    assert fit.fixed == pytest.approx(3e-3) and fit.per_position == pytest.approx(2e-6)
    assert fit_growth(contexts, [1e-6 * c**1.5 for c in contexts]).slope == pytest.approx(1.5)


def test_a_step_reads_all_weights_and_its_cache():
    plain = bytes_of_step(SETTING, 20)
    assert plain == 4 * CONFIG.matmul_params() + 21 * CONFIG.kv_bytes_per_token(4)


def test_bands_of_the_policy():
    bench = Bench(points=20, bands=[[1.5, 100], [3, 40]])
    assert [bench.points_for(r) for r in (0.2, 1.5, 1.51, 3.0, 3.01)] == [20, 20, 8, 8, 0]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("bands = [[2, 80], [1.25, 100]]", "the ratios must ascend"),
        ("bands = [[1.25, 50], [2, 80]]", "the percents must not"),
        ("bands = [[1.25]]", "expected a pair"),
        ("bands = 3", "expected a list of pairs"),
        ("bands = [[-1, 80]]", "a ratio is above 0"),
        ('against = "absolute"', "'solution', 'naive' or 'bound'"),
        ("milliseconds = 5", "there is no such key"),
    ],
)
def test_what_is_wrong_with_bench_in_a_policy(tmp_path, line, words):
    path = tmp_path / "policy.toml"
    path.write_text(f"[bench]\n{line}\n")
    with pytest.raises(GraderError, match=words):
        Policy.load(path)


# ------------------------------------------------------------------------------------ the growth


def test_growth_by_a_fake_clock():
    loop = Scripted({})

    def measured(step_seconds) -> Growth:
        def prefilled(context):
            loop.now += context

            def step():
                loop.now += step_seconds(context)

            return step

        return measure_growth((10, 1000), prefilled, clock=loop.clock)

    cached, recomputing = measured(lambda c: 5 + c / 1000), measured(lambda c: 2 * c)
    assert not cached.recomputes and cached.share < 0.05
    assert recomputing.recomputes and recomputing.share == pytest.approx(1)
    assert cached.described() == (
        "from context 10 to 1000 a decode step takes 1.2 times as long, a recompute 100.0 times"
    )


def test_a_recompute_that_does_not_grow_says_nothing():
    assert not growth_of([1, 2], {1: 1.0, 2: 9.0}, {1: 1.0, 2: 0.9}).recomputes


# -------------------------------------------------------------------------------------- verifying


def test_tolerance_divides_rounding_from_lower_precision():
    rng = np.random.default_rng(0)
    expected = rng.standard_normal((3, 1, 50))
    tolerance = Tolerance.of("float32")
    assert check_steps(expected + 2e-6, expected, tolerance, "x") == pytest.approx(2e-6)
    with pytest.raises(Refused, match=r"step 1 .* lower precision"):
        noise = 3e-5 * rng.standard_normal(expected.shape)
        noise[0] = 2e-6
        check_steps(expected + noise, expected, tolerance, "x")


def test_a_coarse_dtype_is_judged_by_our_own_error():
    """Another correct loop has up to 1.4 times our error, 8-bit keys and values 1.8 and more."""
    expected = np.random.default_rng(0).standard_normal((5, 1, 40))
    tolerance = Tolerance.of("bfloat16", 0.01)
    check_steps(expected + 0.014, expected, tolerance, "x")
    with pytest.raises(Refused, match="rms of all steps"):
        check_steps(expected + 0.018, expected, tolerance, "x")
    one_bad_step = expected + 0.001
    one_bad_step[3] += 0.05
    with pytest.raises(Refused, match="logits of step 3"):
        check_steps(one_bad_step, expected, Tolerance(1.0, tolerance.rms_of_step), "x")


def test_a_tie_is_not_wrong_and_a_token_outside_is():
    logits = np.zeros((1, 2, 3))
    logits[0, :, 0], logits[0, :, 1] = 1.0, 1.0 - 1e-6
    check_tokens(np.array([[0, 1]]), logits, Tolerance.of("float32"), "generate")
    for tokens, words in (([[0, 2]], "token 1 "), ([[0, 3]], "outside"), ([[-1, 0]], "outside")):
        with pytest.raises(Refused, match=words):
            check_tokens(np.array(tokens), logits, Tolerance.of("float32"), "generate")


def test_perturbed_weights_make_another_model():
    params = init_llama(CONFIG, 3, np.float32)
    tokens = np.arange(6)[None]
    one, same, other = (perturbed(params, seed, "float32") for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], same[name]) for name in params)
    assert not any(np.array_equal(one[name], other[name]) for name in params)
    logits = [expected_logits(CONFIG, p, tokens, 5) for p in (one, other)]
    assert np.abs(logits[0] - logits[1]).max() > 0.1


def test_weights_are_rounded_to_what_the_dtype_holds():
    params = {"w": np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)}
    rounded = perturbed(params, 1, "bfloat16")["w"]
    assert not (rounded.view(np.uint32) & 0xFFFF).any()
    exact = perturbed(params, 1, "float32")["w"]
    assert np.abs(rounded / exact - 1).max() <= 2**-8
